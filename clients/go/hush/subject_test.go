package hush

import "testing"

func TestSubjects(t *testing.T) {
	var file struct {
		About    string
		Subjects []struct{ Name, Subject string }
		Plans    []struct {
			Name, Title string
			Belongs     bool
		}
	}
	load(t, "names.json", &file)
	if len(file.Subjects) < 10 || len(file.Plans) < 40 {
		t.Fatal("too few")
	}
	for _, one := range file.Subjects {
		if found := Subject(one.Name); found != one.Subject {
			t.Errorf("%q: %q", one.Name, found)
		}
	}
	for _, one := range file.Plans {
		if Under(Subject(one.Name), one.Title) != one.Belongs {
			t.Errorf("%q belongs to %q, or not", one.Title, one.Name)
		}
	}
}
