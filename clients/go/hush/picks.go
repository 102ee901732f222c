package hush

import (
	"fmt"
	"math/big"
)

const mostHeld = 64

// picks reports a set of weight out of size values and held blanks. A person holds as many items as there are blanks, and
// a set has h of them with probability shares[h] / 2^64.
type picks struct {
	size, held, weight int
	shares             []uint64
}

func readPicks(value any) (channel, error) {
	f := open(value, "kind", "size", "held", "weight", "shares")
	p := &picks{size: f.size("size", 2, mostChoices+1), shares: f.bigs("shares")}
	p.held = f.size("held", 1, least(mostHeld, p.size-1))
	p.weight = f.size("weight", 1, p.size-p.held)
	f.rule(len(p.shares) == least(p.held, p.weight)+1, "shares must be one for each number of held items")
	if f.err != nil {
		return nil, f.err
	}
	sum, mean := new(big.Int), new(big.Int)
	for h, share := range p.shares {
		sum.Add(sum, whole(share))
		mean.Add(mean, new(big.Int).Mul(whole(share), whole(uint64(h))))
		f.rule(p.likelier(h).atLeast(one), "a set without held items must be the least likely")
	}
	f.rule(sum.Cmp(words) == 0, "shares must add up to 2^64")
	others := new(big.Int).Sub(new(big.Int).Mul(words, whole(uint64(p.weight))), mean)
	ours, theirs := new(big.Int).Mul(mean, whole(uint64(p.size))), others.Mul(others, whole(uint64(p.held)))
	f.rule(ours.Cmp(theirs) > 0, "a held item must be likelier to be in the set than another")
	return p, f.err
}

// sets counts the sets with h held items.
func (p *picks) sets(h int) *big.Int {
	own := new(big.Int).Binomial(int64(p.held), int64(h))
	return own.Mul(own, new(big.Int).Binomial(int64(p.size), int64(p.weight-h)))
}

// likelier is how many times likelier a set with h held items is than one without.
func (p *picks) likelier(h int) fraction {
	return quotient(whole(p.shares[h]), p.sets(0), whole(p.shares[0]), p.sets(h))
}

func (p *picks) fit(attributes []*attribute) error {
	if len(attributes) == 1 && attributes[0].most == p.held {
		a, extra := attributes[0], 0
		if a.optional {
			extra = 1
		}
		if len(a.texts)+extra == p.size {
			return nil
		}
	}
	return fmt.Errorf("it needs choices of at most %d of %d values, \"missing\" among them if they are optional", p.held, p.size)
}

func (p *picks) ratio() fraction {
	most := one
	for h := range p.shares {
		if next := p.likelier(h); next.exceeds(most) {
			most = next
		}
	}
	return most
}

func (p *picks) alphabet() alphabet {
	return alphabet{size: p.size + p.held, set: p.weight > 1, members: p.weight}
}

func (p *picks) draw(c *coins, inputs []input) output {
	x, limit, hits := c.word(), uint64(0), 0
	for _, share := range p.shares[:len(p.shares)-1] {
		limit += share
		hits += int(1 - less(x, limit))
	}
	own, others := make([]byte, p.held+1), make([]byte, p.size+1) // the last places stay empty
	for t, j := range c.several(rising(1, p.held)) {
		floyd(own, t, j, 1-less(uint64(t+hits), uint64(p.held)))
	}
	for step, j := range c.several(rising(p.size-p.weight+1, p.weight)) {
		floyd(others, p.size-p.weight+step, j, 1-less(uint64(step), uint64(hits)))
	}
	marks, set, symbol := inputs[0].marks, make([]byte, p.size+p.held), 0
	nextOwn, nextOther := 0, 0
	for i := range set {
		var mark uint64
		switch {
		case i < len(marks):
			mark = uint64(marks[i]) & 1
		case i < p.size:
			mark = uint64(marks[0]) >> 1
		default:
			mark = less(uint64(nextOwn), uint64(p.held))
		}
		set[i] = byte(choose(mark, uint64(own[nextOwn]), uint64(others[nextOther])))
		nextOwn += int(mark)
		nextOther += int(1 - mark)
		symbol += i * int(set[i])
	}
	if p.weight > 1 {
		return output{set: set}
	}
	return output{symbol: symbol}
}
