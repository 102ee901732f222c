package hush

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

type trainingFile struct {
	About string
	Phase string
	Good  []struct {
		Record json.RawMessage
		Label  json.RawMessage
		Asked  []float64
		Words  []string
		Report string
		JSON   string
	}
	Bad []struct {
		Why    string
		Record json.RawMessage
		Label  json.RawMessage
	}
}

func trainingFiles(t *testing.T) map[string]*trainingFile {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(vectors, "training-*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no trainings in %s", vectors)
	}
	files := map[string]*trainingFile{}
	for _, name := range names {
		files[filepath.Base(name)] = &trainingFile{}
		load(t, filepath.Base(name), files[filepath.Base(name)])
	}
	return files
}

func mustPhase(t *testing.T, text string) *Phase {
	t.Helper()
	phase, err := ParsePhase([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return phase
}

func labelOf(t *testing.T, text json.RawMessage) any {
	t.Helper()
	value, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func asFloats(t *testing.T, phase *Phase, asked Record) []float64 {
	t.Helper()
	var found []float64
	for _, name := range phase.plan.Names() {
		switch value := asked[name].(type) {
		case float64:
			found = append(found, value+0)
		case int64:
			found = append(found, float64(value))
		default:
			t.Fatalf("%s is no number", name)
		}
	}
	return found
}

func sameFloats(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] || math.IsNaN(a[i]) {
			return false
		}
	}
	return true
}

func TestTrainings(t *testing.T) {
	for name, file := range trainingFiles(t) {
		t.Run(name, func(t *testing.T) {
			phase := mustPhase(t, file.Phase)
			if phase.Done() || len(file.Good) == 0 || len(file.Bad) == 0 {
				t.Fatal("nothing is tested")
			}
			for i, case_ := range file.Good {
				asked, err := phase.answer(mustRecord(t, case_.Record), labelOf(t, case_.Label))
				if err != nil {
					t.Fatalf("%d: %v", i, err)
				}
				if found := asFloats(t, phase, asked); !sameFloats(found, case_.Asked) {
					t.Fatalf("%d: %v, not %v", i, found, case_.Asked)
				}
				coins, left := given(t, case_.Words)
				report, err := randomise(phase.plan, asked, coins)
				if err != nil {
					t.Fatalf("%d: %v", i, err)
				}
				if hex.EncodeToString(report.Binary()) != case_.Report || string(report.JSON()) != case_.JSON || left() != 0 {
					t.Errorf("%d: another report, and %d words are left", i, left())
				}
			}
			for _, bad := range file.Bad {
				_, err := phase.answer(mustRecord(t, bad.Record), labelOf(t, bad.Label))
				if err == nil {
					t.Errorf("%s: it was taken", bad.Why)
				} else if strings.Contains(err.Error(), "perhaps") || strings.Contains(err.Error(), "1000000000") {
					t.Errorf("%s: a private value is quoted: %v", bad.Why, err)
				}
			}
			record, label := mustRecord(t, file.Good[0].Record), labelOf(t, file.Good[0].Label)
			if _, err := phase.Randomise(record, label); err != nil {
				t.Error(err)
			}
			if err := phase.Check(Record{}, label); err == nil {
				t.Error("an empty record fits")
			}
		})
	}
}

func TestBadPhases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(vectors, "bad-phases.json"))
	if err != nil {
		t.Fatal(err)
	}
	file := mustRead(t, text).(object)
	good, cases := file["good"].([]any), file["bad"].([]any)
	for _, text := range good {
		mustPhase(t, text.(string))
	}
	for _, one := range cases {
		bad := one.(object)
		of, _ := asInteger(bad["of"])
		whole, at := mustRead(t, []byte(good[of].(string))), bad["at"].([]any)
		value, given := bad["value"]
		if len(at) == 0 {
			whole = value
		} else {
			place := whole.(object)
			for _, name := range at[:len(at)-1] {
				place = place[name.(string)].(object)
			}
			if last := at[len(at)-1].(string); given {
				place[last] = value
			} else {
				delete(place, last)
			}
		}
		if _, err := ParsePhase(canonical(whole)); err == nil {
			t.Errorf("%s: it was taken", bad["why"])
		}
	}
	if len(cases) < 200 {
		t.Error("too few")
	}
}

func TestArithmeticOfTrainings(t *testing.T) {
	var file struct {
		About       string
		Exponential []struct{ X, Value float64 }
		Softplus    []struct{ X, Value float64 }
		Signs       []struct {
			Purpose, Seed string
			Count         int
			Bits          string
		}
		Rotated []struct {
			Seed           string
			Vector, Turned []float64
		}
		Pointed []struct {
			Vector []float64
			Size   float64
			Near   int
			Record []float64
		}
	}
	load(t, "rotations.json", &file)
	for _, one := range file.Exponential {
		if got := exponential(one.X); got != one.Value {
			t.Errorf("exponential(%v) is %v, not %v", one.X, got, one.Value)
		}
	}
	for _, one := range file.Softplus {
		if got := softplus(one.X); got != one.Value {
			t.Errorf("softplus(%v) is %v, not %v", one.X, got, one.Value)
		}
	}
	for _, one := range file.Signs {
		bits := make([]byte, (one.Count+7)/8)
		for i, sign := range seededSigns(one.Purpose, one.Seed, one.Count) {
			if sign > 0 {
				bits[i>>3] |= 1 << (i & 7)
			}
		}
		if hex.EncodeToString(bits) != one.Bits {
			t.Errorf("the signs of %q are others", one.Seed)
		}
	}
	for _, one := range file.Rotated {
		if !sameFloats(rotate(one.Vector, one.Seed), one.Turned) {
			t.Errorf("%d numbers are rotated otherwise", len(one.Vector))
		}
	}
	for i, one := range file.Pointed {
		if !sameFloats(pointed(one.Vector, one.Size, one.Near), one.Record) {
			t.Errorf("direction %d is another", i)
		}
	}
}

func TestArithmeticOfMaps(t *testing.T) {
	var file struct {
		About   string
		Cosine  []struct{ T, Value float64 }
		Normal  []struct{ Z, Density, Below float64 }
		Moments []struct {
			Activation     string
			Bias, Q        float64
			Mean, Variance float64
		}
		Random []struct {
			Units, Inputs, Dimensions int
			Seed                      string
			Numbers                   []int
			Table                     [][3]json.RawMessage
		}
	}
	load(t, "maps.json", &file)
	for _, one := range file.Cosine {
		if got := cosine(one.T); got != one.Value {
			t.Errorf("cosine(%v) is %v, not %v", one.T, got, one.Value)
		}
	}
	for _, one := range file.Normal {
		if density, below := normal(one.Z); density != one.Density || below != one.Below {
			t.Errorf("normal(%v) is %v, %v", one.Z, density, below)
		}
	}
	for _, one := range file.Moments {
		mean, variance := reluMoments(one.Bias, one.Q)
		if one.Activation == "wave" {
			mean, variance = waveMoments(one.Bias, one.Q)
		}
		if mean != one.Mean || variance != one.Variance {
			t.Errorf("%s of %v, %v: %v, %v", one.Activation, one.Bias, one.Q, mean, variance)
		}
	}
	for _, one := range file.Random {
		m := featureMap{count: one.Units, inputs: one.Inputs, seed: one.Seed}
		for i, got := range m.random(one.Numbers, one.Dimensions) {
			var places []int
			var weights []float64
			var bias float64
			for k, into := range []any{&places, &weights, &bias} {
				if err := json.Unmarshal(one.Table[i][k], into); err != nil {
					t.Fatal(err)
				}
			}
			if !reflect.DeepEqual(places, got.places) || !sameFloats(weights, got.weights) || bias != got.bias {
				t.Fatalf("unit %d of %q is another: %v", i, one.Seed, got)
			}
		}
	}
	if len(file.Cosine) == 0 || len(file.Normal) == 0 || len(file.Moments) == 0 || len(file.Random) == 0 {
		t.Error("nothing was tested")
	}
}

func TestADescriptionHasTheMap(t *testing.T) {
	text := trainingFiles(t)["training-map-waves.json"].Phase
	other := strings.Replace(text, `"seed":"waves"`, `"seed":"other"`, 1)
	if other == text {
		t.Fatal("the seed of the map is written otherwise")
	}
	one, two := mustPhase(t, text).Training().Description(), mustPhase(t, other).Training().Description()
	if string(one) == string(two) {
		t.Error("two maps have one description")
	}
}

func TestNoBoundAndNoRadiusMakeSubnormalQuotients(t *testing.T) {
	files := trainingFiles(t)
	for _, name := range []string{"training-hinge.json", "training-signs.json"} {
		for _, size := range []float64{5e-324, 1e-300, 1e300, 1.7e308} {
			phase, found := mustPhase(t, files[name].Phase), false
			phase.training.bound, phase.training.radius = size, size
			for _, person := range files[name].Good {
				record, err := ParseRecord(person.Record)
				if err != nil {
					t.Fatal(err)
				}
				asked, err := phase.answer(record, labelOf(t, person.Label))
				if err != nil {
					t.Fatal(err)
				}
				for _, value := range asFloats(t, phase, asked) {
					found = found || value != 0
					if value != 0 && math.Abs(value) < 0x1p-1022 {
						t.Fatalf("%s, %g: %g", name, size, value)
					}
				}
			}
			if !found {
				t.Errorf("%s, %g: all are 0", name, size)
			}
		}
	}
}
