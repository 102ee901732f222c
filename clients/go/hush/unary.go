package hush

import "math/bits"

// unary reports a bit for each category: 1 with probability truth / 2^64 for the true one, with other / 2^64 for others.
type unary struct {
	size         int
	truth, other uint64
}

func readUnary(value any) (channel, error) {
	f := open(value, "kind", "size", "true", "other")
	u := &unary{size: f.size("size", 2, mostCategories), truth: f.big("true"), other: f.big("other")}
	f.rule(u.other < u.truth, "other must be below true")
	return u, f.err
}

func (u *unary) fit(attributes []*attribute) error { return oneCategory(attributes, u.size) }

func (u *unary) ratio() fraction {
	return quotient(whole(u.truth), rest(u.other), whole(u.other), rest(u.truth))
}

func (u *unary) alphabet() alphabet { return alphabet{size: u.size, set: true, members: -1} }

func (u *unary) draw(c *coins, inputs []input) output {
	set := make([]byte, u.size)
	last := bits.TrailingZeros64(u.other)
	for start := 0; start < u.size; start += 64 {
		// Each bit of a block compares its own binary digits with those of other, until they differ. Bits behind the last
		// category are drawn and dropped.
		ones, open := uint64(0), ^uint64(0)
		for digit := 63; digit >= last; digit-- {
			x := c.word()
			if u.other>>digit&1 == 1 {
				ones |= open &^ x
				open &= x
			} else {
				open &^= x
			}
		}
		for i := start; i < u.size && i < start+64; i++ {
			set[i] = byte(ones >> (i - start) & 1)
		}
	}
	truth := c.toss(u.truth)
	for i := range set {
		set[i] = byte(choose(same(uint64(i), uint64(inputs[0].index)), truth, uint64(set[i])))
	}
	return output{set: set}
}
