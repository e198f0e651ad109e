package sim

import (
	"testing"
)

func TestFilter(t *testing.T) {
	row := Row{"id": {"7"}, "label": {"prod-0a"}, "tags": {"lkeplan-cluster=prod", "Team=web"}, "region": {"us-ord"},
		"created": {"2026-01-02T03:04:05"}}
	for _, tc := range []struct {
		header string
		want   bool
	}{
		{``, true},
		{`{}`, true},
		{`{"tags":"lkeplan-cluster=prod"}`, true},
		{`{"tags":"lkeplan-cluster=pro"}`, false}, // equality is not the beginning
		{`{"tags":"team=WEB"}`, true},
		{`{"tags":{"+contains":"cluster=pro"}}`, true},
		{`{"tags":{"+contains":"staging"}}`, false},
		{`{"label":"prod-0a","region":"us-ord"}`, true},
		{`{"label":"prod-0a","region":"us-sea"}`, false},
		{`{"created":{"+gte":"2026-01-02T03:04:05"}}`, true},
		{`{"created":{"+gte":"2026-01-02T03:04:06"}}`, false},
		{`{"id":7}`, true},
		{`{"+or":[{"id":7},{"id":96050806}]}`, true},
		{`{"image":"linode/debian12"}`, false},
		{`{"+and":[{"tags":"team=web"},{"tags":"lkeplan-cluster=prod"}]}`, true},
		{`{"+and":[{"tags":"team=web"},{"tags":"other"}]}`, false},
		{`{"+or":[{"tags":"team=web"},{"tags":"other"}]}`, true},
		{`{"+or":[]}`, false},
		{`{"+order_by":"id","+order":"asc"}`, true},
	} {
		picks, problem := ParseFilter(tc.header, "id", "label", "tags", "region", "image", "created")
		if problem != nil {
			t.Errorf("%s: %s", tc.header, problem.Reason)
			continue
		}
		if got := picks(row); got != tc.want {
			t.Errorf("%s: %v", tc.header, got)
		}
	}
	picks, problem := ParseFilter(`{"id":96050806}`, "id")
	if problem != nil || !picks(Row{"id": {"96050806"}}) {
		t.Errorf("a large id is not found: %v", problem)
	}
}

func TestWhatIsNoFilter(t *testing.T) {
	for header, want := range map[string]string{
		`{"foo":"a"}`:                       "Cannot filter on foo",
		`{"+and":[{"foo":"a"}]}`:            "Cannot filter on foo",
		`{"+and":{"tags":"a"}}`:             "Invalid value of +and",
		`{"tags":{"+near":"a"}}`:            "Invalid operator for tags",
		`{"tags":null}`:                     "Invalid operator for tags",
		`{"tags":{"+contains":null}}`:       "Invalid value of tags",
		`[]`:                                "Invalid filter",
		`tags=a`:                            "Invalid filter",
		`{"tags":{"+contains":"a","+x":1}}`: "Invalid operator for tags",
	} {
		_, problem := ParseFilter(header, "id", "label", "tags", "region", "image")
		switch {
		case problem == nil && want != "":
			t.Errorf("%s is taken", header)
		case problem != nil && (problem.Reason != want || problem.Field != "X-Filter"):
			t.Errorf("%s: %+v", header, problem)
		}
	}
}
