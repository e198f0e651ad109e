package sim

import (
	"fmt"
	"testing"
)

func TestFilter(t *testing.T) {
	row := rowOf(Instance{
		ID: 7, Label: "prod-0a", Tags: []string{"lkeplan-cluster=prod", "Team=web"}, Region: "us-ord",
		Created: "2026-01-02T03:04:05",
	})
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
		{`{"+or":[{"tags":"team=web"},{"tags":"other"}]}`, true},
		{`{"+or":[]}`, false},
	} {
		picks, err := parseFilter(tc.header, "id", "label", "tags", "region", "image", "created")
		if err != nil {
			t.Errorf("%s: %v", tc.header, err)
			continue
		}
		if got := picks == nil || picks(row); got != tc.want {
			t.Errorf("%s: %v", tc.header, got)
		}
	}
	picks, err := parseFilter(`{"id":96050806,"entity.type":"lkenodepool"}`, "id", "entity.type")
	if err != nil || !picks(rowOf(Event{ID: 96050806, Entity: EventEntity{Type: "lkenodepool"}})) {
		t.Errorf("a large id, or what is inside another object, is not found: %v", err)
	}
}

func TestInvalidFilters(t *testing.T) {
	for header, want := range map[string]string{
		`{"foo":"a"}`:                       "Cannot filter on foo",
		`{"+or":[{"foo":"a"}]}`:             "Cannot filter on foo",
		`{"+or":{"tags":"a"}}`:              "Invalid value of +or",
		`{"tags":{"+near":"a"}}`:            "Invalid operator for tags",
		`{"tags":null}`:                     "Invalid operator for tags",
		`{"tags":{"+contains":null}}`:       "Invalid value of tags",
		`[]`:                                "Invalid filter",
		`tags=a`:                            "Invalid filter",
		`{"tags":{"+contains":"a","+x":1}}`: "Invalid operator for tags",
	} {
		_, err := parseFilter(header, "id", "label", "tags", "region", "image")
		if got := fmt.Sprint(err); got != "400 X-Filter: "+want {
			t.Errorf("%s: %s", header, got)
		}
	}
}
