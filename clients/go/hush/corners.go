package hush

import "math"

// corners reports one signed dimension: one of the near largest numbers, with its rounded sign, with probability
// threshold / 2^64, and any other otherwise.
type corners struct {
	size, near int
	threshold  uint64
}

func readCorners(value any) (channel, error) {
	f := open(value, "kind", "size", "near", "threshold")
	q := &corners{size: f.size("size", 1, mostSigns), threshold: f.big("threshold")}
	q.near = f.size("near", 1, q.size)
	f.rule(f.err != nil || q.ratio().exceeds(one), "threshold must prefer near corners")
	return q, f.err
}

func (q *corners) fit(attributes []*attribute) error { return numbers(attributes, q.size) }

func (q *corners) ratio() fraction {
	return quotient(whole(q.threshold), whole(uint64(2*q.size-q.near)), rest(q.threshold), whole(uint64(q.near)))
}

func (q *corners) alphabet() alphabet { return alphabet{size: 2 * q.size} }

func (q *corners) draw(c *coins, inputs []input) output {
	word := c.word()
	sizes, signs := make([]uint64, q.size), make([]uint64, q.size)
	for j := range sizes {
		u := inputs[j].u
		sizes[j] = uint64(math.Abs(u-0.5) * (1 << 31))
		signs[j] = lessFloat(float64(word>>11), float64(u*(1<<53)))
	}
	marks := make([]uint64, 2*q.size)
	for j, near := range largest(sizes, q.near) {
		marks[2*j], marks[2*j+1] = near&(1-signs[j]), near&signs[j]
	}
	near := c.toss(q.threshold)
	rank := c.below(uint64(2*q.size - q.near))
	rank = choose(near, c.below(uint64(q.near)), rank)
	var found uint64
	for corner, mark := range marks {
		fits := 1 - (mark ^ near)
		found |= uint64(corner) & -(fits & (1 - less(0, rank)))
		rank -= fits // behind the one that is taken it is too large to become 0 again
	}
	return output{symbol: int(found)}
}

// largest marks the near largest of some integers up to 2^30, of equal ones the first.
func largest(sizes []uint64, near int) []uint64 {
	// The size that the last near number has, digit by digit: every digit counts all numbers.
	var cut uint64
	for digit := 30; digit >= 0; digit-- {
		trial := cut | 1<<digit
		var reached uint64
		for _, size := range sizes {
			reached += 1 - less(size, trial)
		}
		cut = choose(less(reached, uint64(near)), cut, trial)
	}
	spare := uint64(near)
	for _, size := range sizes {
		spare -= less(cut, size)
	}
	marks := make([]uint64, len(sizes))
	for j, size := range sizes {
		equal := same(size, cut) & less(0, spare)
		marks[j] = less(cut, size) | equal
		spare -= equal
	}
	return marks
}
