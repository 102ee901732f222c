package hush

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// coins deals words of 64 bits, and what the specification makes of them.
type coins struct {
	// word panics with a failure if there is no word. Randomise and Choose recover it.
	word func() uint64
	// split is a field so that a test can show that a fused one is caught.
	split func(u float64, n int) (int, float64)
}

type failure struct{ err error }

// noWords is the error for a panic of word. Any other panic goes on.
func noWords(problem any) error {
	if found, ok := problem.(failure); ok {
		return fmt.Errorf("no randomness: %w", found.err)
	}
	panic(problem)
}

// systemCoins reads the operating system's generator. It reads a block at a time: how many words a report takes depends
// on the words alone, so the blocks say nothing about the record.
func systemCoins() *coins {
	return readerCoins(rand.Reader)
}

func readerCoins(source io.Reader) *coins {
	var block [512]byte
	next := len(block)
	word := func() uint64 {
		if next == len(block) {
			if _, err := io.ReadFull(source, block[:]); err != nil {
				panic(failure{err})
			}
			next = 0
		}
		x := binary.BigEndian.Uint64(block[next:])
		next += 8
		return x
	}
	return &coins{word: word, split: split}
}

// below is uniform in 0..n-1. n = 0 stands for 2^64, which does not fit.
func (c *coins) below(n uint64) uint64 {
	if n == 1 {
		return 0
	}
	if n == 0 {
		return c.word()
	}
	again := (0 - n) % n // 2^64 mod n
	for {
		high, low := bits.Mul64(c.word(), n)
		if low >= again {
			return high
		}
	}
}

// toss is 1 with probability t / 2^64, else 0.
func (c *coins) toss(t uint64) uint64 {
	return less(c.word(), t)
}

// up is 1 with probability f, else 0. The product with a power of two is exact.
func (c *coins) up(f float64) uint64 {
	return lessFloat(float64(c.word()>>11), float64(f*(1<<53)))
}

// subset is a uniform subset of 0..n-1 of size m: a byte for each index, 1 if it is in.
func (c *coins) subset(n, m int) []byte {
	in := make([]byte, n)
	if m == n {
		for i := range in {
			in[i] = 1
		}
		return in
	}
	for i, j := range c.several(rising(n-m+1, m)) {
		floyd(in, n-m+i, j, 1)
	}
	return in
}

// several has an integer for each of some numbers, uniform below it. As many as have a product of at most 2^56 take one
// word together: the first is the high half of the word's product, and the low half goes on in place of the word.
func (c *coins) several(sizes []uint64) []int {
	found := make([]int, 0, len(sizes))
	for len(found) < len(sizes) {
		rest := sizes[len(found):]
		product, count := rest[0], 1
		for count < len(rest) {
			high, low := bits.Mul64(product, rest[count])
			if high != 0 || low > 1<<56 {
				break
			}
			product = low
			count++
		}
		word := uint64(0)
		if product > 1 {
			again := (0 - product) % product // 2^64 mod the product
			for word = c.word(); word*product < again; {
				word = c.word()
			}
		}
		for _, n := range rest[:count] {
			high, low := bits.Mul64(word, n)
			found = append(found, int(high))
			word = low
		}
	}
	return found
}

// rising has the numbers from n on.
func rising(n, count int) []uint64 {
	found := make([]uint64, count)
	for i := range found {
		found[i] = uint64(n + i)
	}
	return found
}

// floyd adds j to the set, or t if j is in already; or nothing, if live is 0.
func floyd(in []byte, t, j int, live uint64) {
	in[choose(uint64(in[j]), t, j)] |= byte(live)
}

// split cuts u*n, for u from 0 to 1, into a whole number below n and the rest. The conversion keeps the compiler from
// fusing the product with the difference.
func split(u float64, n int) (int, float64) {
	p := float64(u * float64(n))
	s := least(int(p), n-1)
	return s, p - float64(s)
}

// The following have no branches, so that they take the same time for every input.

// less is 1 if a < b, else 0.
func less(a, b uint64) uint64 {
	_, borrow := bits.Sub64(a, b, 0)
	return borrow
}

// lessFloat is 1 if a < b, else 0, for floats that are not negative. Their bits are ordered as they are.
func lessFloat(a, b float64) uint64 {
	return less(math.Float64bits(a), math.Float64bits(b))
}

// same is 1 if a = b, else 0.
func same(a, b uint64) uint64 {
	return less(a^b, 1)
}

// choose is yes if the bit is 1, no if it is 0.
func choose[T int | uint64](bit uint64, yes, no T) T {
	return no ^ (no^yes)&-T(bit)
}

// least is the smaller of two numbers that are not negative.
func least(a, b int) int {
	return choose(less(uint64(a), uint64(b)), a, b)
}
