package sim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const duplicate = "400 label: Label must be unique among your linodes"

// order is the body of a good request, with what else is given; nil takes a field out.
func order(label string, more fields) fields {
	request := fields{
		"label": label, "type": "g6-standard-4", "region": "us-ord", "image": "linode/debian12",
		"authorized_keys": []string{"ssh-ed25519 AAAA"}, "tags": []string{"lkeplan-cluster=prod"},
	}
	maps.Copy(request, more)
	return request
}

func (a *account) buy(label string, more fields) (made Instance) {
	a.Helper()
	a.do("POST", "/linode/instances", order(label, more), &made)
	return made
}

func TestLinodeSpecOfAClass(t *testing.T) {
	data := func(size int) fields {
		return fields{"user_data": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", size)))}
	}
	for _, tc := range []struct {
		name    string
		request fields
		want    string
	}{
		{"good", nil, ""},
		{"a nanode", fields{"type": "g6-nanode-1"}, ""}, // which LKE does not take
		{"no type", fields{"type": nil}, "400 type: type is required"},
		{"unknown type", fields{"type": "g9-none-1"}, "400 type: A valid plan type by that ID was not found"},
		{
			"not sold here", fields{"type": "g1-gpu-rtx6000-1"},
			"400 type: Plan g1-gpu-rtx6000-1 is not available in region us-ord",
		},
		{"no region", fields{"region": nil}, "400 region: region is required"},
		{"unknown region", fields{"region": "us-mars"}, "400 region: region is not valid"},
		{"label of 2", fields{"label": "ab"}, "400 label: Length must be 3-64 characters"},
		{"label of 64", fields{"label": strings.Repeat("a", 64)}, ""},
		{"label of 65", fields{"label": strings.Repeat("a", 65)}, "400 label: Length must be 3-64 characters"},
		{"two hyphens", fields{"label": "prod--a"}, "400 label: Must begin and end with"},
		{"a hyphen at the end", fields{"label": "prod-"}, "400 label: Must begin and end with"},
		{"no image", fields{"image": nil, "authorized_keys": nil}, ""},
		{"an image and no key", fields{"authorized_keys": nil}, "400 root_pass: root_pass is required"},
		{"an image and a password", fields{"authorized_keys": nil, "root_pass": "secret"}, ""},
		{"no image at all", fields{"image": "debian"}, "400 image: image is not valid"},
		{"a tag of 2", fields{"tags": []string{"ab"}}, "400 tags: Length must be 3-50 characters"},
		{"encryption", fields{"disk_encryption": "maybe"}, "400 disk_encryption: Must be one of enabled, disabled"},
		{"16 KiB of user data", fields{"metadata": data(16 << 10)}, ""},
		{"more", fields{"metadata": data(16<<10 + 1)}, "400 metadata.user_data: Must be at most 16384 bytes"},
		{
			"not in base64", fields{"metadata": fields{"user_data": "#cloud-config"}},
			"400 metadata.user_data: Must be valid Base64",
		},
		{"all at once", fields{"type": nil, "region": nil}, "400 region: region is required; type: type is required"},
	} {
		a := newAccount(t, Config{})
		var got struct {
			Instance
			Errors []fieldError
		}
		res, err := a.try("POST", "/linode/instances", order("prod-a", tc.request), &got)
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		if res.StatusCode != http.StatusOK {
			said = (&apiError{status: res.StatusCode, errs: got.Errors}).Error()
		}
		if !strings.HasPrefix(said, tc.want) || (said == "") != (tc.want == "") {
			t.Errorf("%s: %q; want %q", tc.name, said, tc.want)
		}
		if n := len(a.Linodes()); n != map[bool]int{true: 1}[tc.want == ""] {
			t.Errorf("%s: %d Linodes", tc.name, n)
		}
	}
}

// TestALabelIsUniqueInAnAccount: among all Linodes, those of LKE pools too, until a Linode is gone.
func TestALabelIsUniqueInAnAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{DeleteDelay: 30 * time.Second})
		a.makePool(1, nil)
		of := a.Instances()[0].Label
		made := a.buy("prod-a", nil)
		for _, label := range []string{"prod-a", of} {
			if got := a.refused("POST", "/linode/instances", order(label, nil)); got != duplicate {
				t.Errorf("%s: %q", label, got)
			}
		}
		a.do("DELETE", fmt.Sprintf("/linode/instances/%d", made.ID), nil, nil)
		var left Instance
		a.do("GET", fmt.Sprintf("/linode/instances/%d", made.ID), nil, &left)
		if left.Status != "deleting" {
			t.Errorf("it is %s", left.Status)
		}
		if got := a.refused("POST", "/linode/instances", order("prod-a", nil)); got != duplicate {
			t.Errorf("while it goes: %q", got)
		}
		time.Sleep(30 * time.Second)
		again := a.buy("prod-a", nil)
		if again.ID == made.ID {
			t.Error("it has the same id")
		}
		if got := a.refused("DELETE", fmt.Sprintf("/linode/instances/%d", made.ID), nil); got != "404 Not found" {
			t.Errorf("deleted again: %q", got)
		}
		if named := a.buy("", fields{"label": nil}); named.Label != fmt.Sprintf("linode%d", named.ID) {
			t.Errorf("without a label it is called %s", named.Label)
		}
		if s := a.Stats(); s.Made != 4 || s.Deleted != 1 || s.Live != 3 || s.Bill == 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestLinodesAreListedByTag: those of LKE pools are in the list as well, in the order of ids.
func TestLinodesAreListedByTag(t *testing.T) {
	a := newAccount(t, Config{})
	for n := range 60 {
		a.buy(fmt.Sprintf("prod-%02d", n), nil)
	}
	a.buy("staging-0", fields{"tags": []string{"lkeplan-cluster=prod-2"}})
	a.makePool(2, nil)
	list := func(query, filter string) (p page[Instance]) {
		res, body := a.get("/v4/linode/instances"+query, map[string]string{"X-Filter": filter})
		if err := json.Unmarshal([]byte(body), &p); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %s %v", query, filter, body, err)
		}
		return p
	}
	if all := list("", ""); all.Results != 63 || !slices.IsSortedFunc(all.Data, func(a, b Instance) int { return a.ID - b.ID }) {
		t.Errorf("%d in all", all.Results)
	}
	tagged := list("?page=3&page_size=25", `{"tags":"lkeplan-cluster=prod"}`)
	if tagged.Results != 60 || tagged.Pages != 3 || len(tagged.Data) != 10 || tagged.Data[9].Label != "prod-59" {
		t.Errorf("%d of %d on page 3 of %d", len(tagged.Data), tagged.Results, tagged.Pages)
	}
	if one := list("", `{"label":"staging-0"}`); one.Results != 1 || one.Data[0].LKEClusterID != nil {
		t.Errorf("%+v", one)
	}
	res, body := a.get("/v4/linode/instances", map[string]string{"X-Filter": `{"foo":"x"}`})
	if want := `{"errors":[{"reason":"Cannot filter on foo","field":"X-Filter"}]}`; res.StatusCode != 400 || body != want {
		t.Errorf("%d %s", res.StatusCode, body)
	}
}

// TestTwentyLinodesInFifteenSeconds: creations have a separate limit, which refused ones use up as well.
func TestTwentyLinodesInFifteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{RateLimit: documented})
		send := func(n int) string {
			res, err := a.try("POST", "/linode/instances", order(fmt.Sprint("prod-", n), nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			h := res.Header
			return fmt.Sprintf("%d: %s of %s, %s s", res.StatusCode, h.Get("X-RateLimit-Remaining"),
				h.Get("X-RateLimit-Limit"), h.Get("Retry-After"))
		}
		if got := send(0); got != "200: 19 of 20, 15 s" {
			t.Errorf("the first: %s", got)
		}
		time.Sleep(5 * time.Second)
		for range 19 { // one label: all but the first are refused
			send(1)
		}
		if got := send(2); got != "429: 0 of 20, 10 s" {
			t.Errorf("the 21st: %s", got)
		}
		a.makePool(1, nil) // other calls continue
		time.Sleep(10 * time.Second)
		if got := send(2); got != "200: 19 of 20, 15 s" {
			t.Errorf("in the next window: %s", got)
		}
	})
}

// TestOutcomesOfCreateCalls: answers that are late or lost, and work that is done later.
func TestOutcomesOfCreateCalls(t *testing.T) {
	post := func(f Fault) Fault {
		f.Method, f.Path, f.Count = "POST", "/linode/instances", 1
		return f
	}
	for _, tc := range []struct {
		name        string
		fault       Fault
		want        string // what the caller hears
		now, thirty int    // Linodes at once, and 30 seconds later
	}{
		{"none", post(Fault{Header: map[string]string{"X-A": "b"}}), "", 1, 1},
		{"refused", post(Fault{Status: 503}), "503 Service Unavailable", 0, 0},
		{"done and failed", post(Fault{Status: 500, AfterWork: true}), "500 Internal Server Error", 1, 1},
		{"lost", post(Fault{Lost: true}), "EOF", 1, 1},
		{"late", post(Fault{Status: 504, Late: metav1.Duration{Duration: 20 * time.Second}}), "504 Gateway Timeout", 0, 1},
		{"slow", post(Fault{Delay: metav1.Duration{Duration: 5 * time.Second}}), "", 1, 1},
		{"no stock", Fault{NoCapacity: Refuse, Plan: "g6-standard-4"}, "400 Insufficient capacity", 0, 0},
		{"stock of another", Fault{NoCapacity: Refuse, Plan: "g6-standard-2"}, "", 1, 1},
		{"stock elsewhere", Fault{NoCapacity: Refuse, Region: "us-sea"}, "", 1, 1},
		{"the last", Fault{NoCapacity: Refuse, Room: 1}, "", 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAccount(t, Config{})
				if err := a.Inject(tc.fault); err != nil {
					t.Fatal(err)
				}
				if got := a.attempt("prod-a"); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
					t.Errorf("%q; want %q", got, tc.want)
				}
				if n := len(a.Linodes()); n != tc.now {
					t.Errorf("%d at once", n)
				}
				time.Sleep(30 * time.Second)
				if n := len(a.Linodes()); n != tc.thirty {
					t.Errorf("%d later", n)
				}
			})
		})
	}
}

// attempt creates a Linode and returns what is wrong; "" if nothing is.
func (a *account) attempt(label string) string {
	a.Helper()
	var got struct{ Errors []fieldError }
	res, err := a.try("POST", "/linode/instances", order(label, nil), &got)
	switch {
	case err != nil:
		return err.Error()
	case res.StatusCode != http.StatusOK:
		return (&apiError{status: res.StatusCode, errs: got.Errors}).Error()
	}
	return ""
}

// TestALateCallMakesNoSecondLinode: the same call was sent again meanwhile.
func TestALateCallMakesNoSecondLinode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{MaxInstances: 2})
		late := Fault{Method: "POST", Count: 1, Status: 504, Late: metav1.Duration{Duration: 20 * time.Second}}
		if err := a.Inject(late); err != nil {
			t.Fatal(err)
		}
		a.attempt("prod-a")
		a.buy("prod-a", nil)
		time.Sleep(time.Minute)
		a.buy("prod-b", nil)
		if got, want := a.attempt("prod-c"), "400 Account Limit reached. Please open a support ticket."; got != want {
			t.Errorf("%q", got)
		}
	})
}

// TestALinodeLives: it boots, and reads what it was given.
func TestALinodeLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t, Config{JoinDelay: time.Minute})
		made := a.buy("prod-a", fields{"metadata": fields{"user_data": base64.StdEncoding.EncodeToString([]byte("hello"))}})
		var statuses []string
		for range 4 {
			var i Instance
			a.do("GET", fmt.Sprintf("/linode/instances/%d", made.ID), nil, &i)
			statuses = append(statuses, i.Status)
			time.Sleep(20 * time.Second)
		}
		if d := cmp.Diff([]string{"provisioning", "booting", "booting", "running"}, statuses); d != "" {
			t.Error(d)
		}
		own := a.Linodes()[0]
		got := Linode{ID: own.ID, Label: own.Label, Image: own.Image, Tags: own.Tags, UserData: own.UserData}
		want := Linode{
			ID: made.ID, Label: "prod-a", Image: "linode/debian12", Tags: []string{"lkeplan-cluster=prod"},
			UserData: []byte("hello"),
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if !made.HasUserData || !a.LoseInstance(made.ID, false) || len(a.Linodes()) != 0 {
			t.Error("its host dies, and it stays")
		}
	})
}
