package hush

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// decided has the fields of a training that its pilot decides about.
var decided = map[string]bool{"rounds": true, "step": true, "radius": true, "centre": true, "scale": true, "start": true, "decay": true,
	"box": true, "tail": true, "rising": true}

// Expected is the training that an app expects: by its name alone, or in full. If its label has more than two classes, each has a
// training of its own, and a person takes part in one of them.
type Expected struct {
	names []string
	texts []string // canonical, without what a pilot decides; empty if the app knows the name alone
}

// Named expects a training by its name alone: the ledger then keeps its features and its label when it first sees them.
func Named(name string) *Expected { return &Expected{names: []string{name}} }

// ParseExpected expects a training in full, from the text of its course, of a round or of a stage, as Python wrote it.
func ParseExpected(text []byte) (*Expected, error) {
	value, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	values, _ := value.(object)
	training, err := readTraining(values["training"])
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	if training.against < 0 {
		return &Expected{[]string{training.Name()}, []string{training.fixed()}}, nil
	}
	found := &Expected{}
	for i := 0; i < len(training.label.integers)+len(training.label.texts); i++ {
		class := *training
		class.against, class.values = i, object{}
		for name, value := range training.values {
			class.values[name] = value
		}
		class.values["against"] = json.Number(strconv.Itoa(i))
		found.names, found.texts = append(found.names, class.Name()), append(found.texts, class.fixed())
	}
	return found, nil
}

// fixed is the training without what its pilot decides, in canonical form.
func (t *Training) fixed() string {
	kept := object{}
	for name, value := range t.values {
		if !decided[name] {
			kept[name] = value
		}
	}
	return string(canonical(kept))
}

// Names has the names of the trainings in a collector: one for each class, or one.
func (e *Expected) Names() []string { return e.names }

// Choose checks what a collector sent for each name, in their order, and draws one that goes on, uniformly and without a look at
// anybody's record. If none goes on it is the first.
func (e *Expected) Choose(sent []*Phase, heldOut bool) (phase *Phase, err error) {
	going := []*Phase{}
	for i, one := range sent {
		known := i < len(e.names) && one.training.Name() == e.names[i] && one.check == heldOut
		if !known || (e.texts != nil && one.training.fixed() != e.texts[i]) {
			return nil, errors.New("the collector sent a round of another training")
		}
		if !one.Done() {
			going = append(going, one)
		}
	}
	if len(sent) != len(e.names) {
		return nil, errors.New("the collector sent too few rounds")
	}
	if len(going) == 0 {
		return sent[0], nil
	}
	defer func() {
		if problem := recover(); problem != nil {
			phase, err = nil, noWords(problem)
		}
	}()
	return going[systemCoins().below(uint64(len(going)))], nil
}
