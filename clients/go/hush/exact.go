package hush

import (
	"math/big"
	"sort"
)

// The number of binary places of lower.
const places = 192

// fraction is a quotient of positive integers. It is not reduced: the products of a large plan would take long.
type fraction struct{ top, bottom *big.Int }

func (a fraction) exceeds(b fraction) bool {
	return new(big.Int).Mul(a.top, b.bottom).Cmp(new(big.Int).Mul(b.top, a.bottom)) > 0
}

func (a fraction) times(b fraction) fraction {
	return fraction{new(big.Int).Mul(a.top, b.top), new(big.Int).Mul(a.bottom, b.bottom)}
}

// atLeast says whether a >= b.
func (a fraction) atLeast(b fraction) bool { return !b.exceeds(a) }

var one = fraction{big.NewInt(1), big.NewInt(1)}

// productOfLargest multiplies the k largest.
func productOfLargest(ratios []fraction, k int) fraction {
	sorted := append([]fraction(nil), ratios...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].exceeds(sorted[j]) })
	product := one
	for _, ratio := range sorted[:k] {
		product = product.times(ratio)
	}
	return product
}

// lower is a fraction below e^x, for x > 0: the terms of the series, each rounded down.
func lower(x *big.Rat) fraction {
	term := new(big.Int).Lsh(big.NewInt(1), places)
	bottom := new(big.Int).Set(term)
	sum := new(big.Int)
	for i := int64(1); term.Sign() > 0; i++ {
		sum.Add(sum, term)
		term.Mul(term, x.Num())
		term.Quo(term, new(big.Int).Mul(x.Denom(), big.NewInt(i)))
	}
	return fraction{sum, bottom}
}

// quotient is a*b / (c*d).
func quotient(a, b, c, d *big.Int) fraction {
	return fraction{new(big.Int).Mul(a, b), new(big.Int).Mul(c, d)}
}

var words = new(big.Int).Lsh(big.NewInt(1), 64) // R of the specification

func whole(x uint64) *big.Int { return new(big.Int).SetUint64(x) }

// rest is R - x.
func rest(x uint64) *big.Int { return new(big.Int).Sub(words, whole(x)) }
