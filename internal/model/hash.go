package main

import (
	"encoding/binary"
	"math/bits"
)

// hashes is a set of states, of which it keeps 64 bits each. Two states with the
// same bits would be taken for one: among ten million that has a chance of three in
// a million.
type hashes struct {
	table []uint64 // open addressing; 0 is an empty place
	n     int
}

func newHashes() *hashes { return &hashes{table: make([]uint64, 1<<12)} }

// add returns false if state was there.
func (h *hashes) add(state []byte) bool {
	if 2*h.n >= len(h.table) {
		h.grow()
	}
	x := hash(state)
	at := h.place(x)
	if h.table[at] == x {
		return false
	}
	h.table[at] = x
	h.n++
	return true
}

func (h *hashes) place(x uint64) int {
	mask := len(h.table) - 1
	at := int(x) & mask
	for h.table[at] != 0 && h.table[at] != x {
		at = (at + 1) & mask
	}
	return at
}

func (h *hashes) grow() {
	old := h.table
	h.table = make([]uint64, 2*len(old))
	for _, x := range old {
		if x != 0 {
			h.table[h.place(x)] = x
		}
	}
}

// hash folds eight bytes at a time by a multiplication of full width, without a
// random seed, so that every run is the same. It is never 0.
func hash(b []byte) uint64 {
	const k1, k2 = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f
	h := uint64(len(b)) * k2
	for ; len(b) >= 8; b = b[8:] {
		hi, lo := bits.Mul64(h^binary.LittleEndian.Uint64(b), k1)
		h = (hi ^ lo) + k2
	}
	for _, x := range b {
		h = (h ^ uint64(x)) * k1
	}
	hi, lo := bits.Mul64(h, k2)
	return hi ^ lo | 1<<63
}
