package hush

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

func number(value int) json.Number { return json.Number(strconv.Itoa(value)) }

// unpack reads an output from its bytes.
func (a alphabet) unpack(data []byte) (output, error) {
	if !a.set {
		return a.symbol(int64(readNumber(data)))
	}
	set := make([]byte, a.size)
	for i := 0; i < 8*len(data); i++ {
		bit := data[i/8] >> (i % 8) & 1
		if i < a.size {
			set[i] = bit
		} else if bit == 1 {
			return output{}, errors.New("spare bits must be 0")
		}
	}
	return a.check(set)
}

// read reads an output from its JSON.
func (a alphabet) read(value any) (output, error) {
	if !a.set {
		symbol, ok := asInteger(value)
		if !ok {
			return output{}, errors.New("an output must be an integer")
		}
		return a.symbol(symbol)
	}
	values, ok := value.([]any)
	set, least := make([]byte, a.size), int64(0)
	for _, value := range values {
		index, isInteger := asInteger(value)
		if !isInteger || index < least || index >= int64(a.size) {
			ok = false
			break
		}
		set[index], least = 1, index+1
	}
	if !ok {
		return output{}, fmt.Errorf("an output must be an array of increasing integers from 0 to %d", a.size-1)
	}
	return a.check(set)
}

func (a alphabet) symbol(symbol int64) (output, error) {
	if symbol < 0 || symbol >= int64(a.size) {
		return output{}, fmt.Errorf("an output must be an integer from 0 to %d", a.size-1)
	}
	return output{symbol: int(symbol)}, nil
}

// check refuses sets that the channel never gives.
func (a alphabet) check(set []byte) (output, error) {
	members, together := 0, 0
	for i, in := range set {
		members += int(in)
		if a.group > 0 && i%a.group == 0 {
			together = 0
		}
		if together += int(in); a.group > 0 && together > 1 {
			return output{}, errors.New("a set must not have two members of one group, as both signs of an attribute")
		}
	}
	if a.members >= 0 && members != a.members {
		return output{}, fmt.Errorf("a set must have %d members", a.members)
	}
	return output{set: set}, nil
}
