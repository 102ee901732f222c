package hush

import (
	"math/big"
	"math/bits"
)

const mostSigns = 1024

// signs reports a sign for each of several numbers: a corner of a cube that is near the rounded input with probability
// threshold / 2^64.
type signs struct {
	size      int
	threshold uint64
}

func readSigns(value any) (channel, error) {
	f := open(value, "kind", "size", "threshold")
	s := &signs{size: f.size("size", 1, mostSigns), threshold: f.big("threshold")}
	f.rule(s.ratio().exceeds(one), "threshold must prefer near corners")
	return s, f.err
}

func (s *signs) fit(attributes []*attribute) error { return numbers(attributes, s.size) }

func (s *signs) ratio() fraction {
	all := new(big.Int).Lsh(big.NewInt(1), uint(s.size))
	near := new(big.Int).Set(all)
	if s.size%2 == 0 {
		near.Sub(near, new(big.Int).Binomial(int64(s.size), int64(s.size/2)))
	}
	near.Rsh(near, 1)
	return quotient(whole(s.threshold), new(big.Int).Sub(all, near), rest(s.threshold), near)
}

func (s *signs) alphabet() alphabet { return alphabet{size: s.size, set: true, members: -1} }

func (s *signs) draw(c *coins, inputs []input) output {
	v := make([]byte, s.size)
	for j := range v {
		v[j] = byte(c.up(inputs[j].u))
	}
	near := c.toss(s.threshold)
	// Corners are drawn again by rules that do not look at the input, and both kinds are always drawn.
	a, ones := s.corner(c)
	for 2*ones == s.size {
		a, ones = s.corner(c)
	}
	flip(a, less(uint64(s.size), uint64(2*ones)))
	b := append([]uint64(nil), a...)
	if s.size%2 == 1 {
		flip(b, 1)
	} else {
		b, ones = s.corner(c)
		for 2*ones < s.size {
			b, ones = s.corner(c)
		}
	}
	for j := range v {
		v[j] ^= byte(choose(near, a[j/64], b[j/64]) >> (j % 64) & 1)
	}
	return output{set: v}
}

// corner draws a uniform corner, and counts its ones.
func (s *signs) corner(c *coins) ([]uint64, int) {
	corner := make([]uint64, (s.size+63)/64)
	ones := 0
	for i := range corner {
		corner[i] = c.word()
		used := corner[i]
		if left := s.size - 64*i; left < 64 {
			used &= 1<<left - 1
		}
		ones += bits.OnesCount64(used)
	}
	return corner, ones
}

// flip takes the complement if the bit is 1.
func flip(corner []uint64, bit uint64) {
	for i := range corner {
		corner[i] ^= -bit
	}
}
