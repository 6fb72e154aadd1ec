// Package archtest holds the rules of the repository that no compiler checks: who
// may import whom, and how large functions and files may be.
package archtest
