// Package mutate breaks package repo on purpose, in one place at a time, and sees that the
// simulation (internal/simulate) or the rules (package conformance) notice: what they
// cannot notice they do not prove. Each variant is a few texts of the real code and what
// stands there instead; a text that does not occur exactly once fails the test, so that
// no variant becomes another one, or none, when the code changes.
//
// All variants are in one test binary, this package's own, built with an overlay: of each
// function that a variant changes there is another one beside it, to which it goes on when
// an environment variable names the variant.
//
//	go test ./internal/mutate
//	go test ./internal/mutate -v -run TestVariants # and how each is noticed
package mutate
