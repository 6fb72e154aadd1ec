// Package hierarchy has the rules on package tree: that trees of every strategy hold on a store.
package hierarchy
