package probe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Read reads a recording.
func Read(recording io.Reader) (head Header, calls []Exchange, err error) {
	lines := bufio.NewScanner(recording)
	lines.Buffer(nil, 32<<20)
	for n := 1; lines.Scan(); n++ {
		var call Exchange
		if n == 1 {
			err = json.Unmarshal(lines.Bytes(), &head)
		} else {
			err = json.Unmarshal(lines.Bytes(), &call)
			calls = append(calls, call)
		}
		if err != nil {
			return head, nil, fmt.Errorf("line %d of the recording: %w", n, err)
		}
	}
	return head, calls, lines.Err()
}

// replay repeats recorded calls at the recorded times against another account. ids maps recorded ids to its own.
type replay struct {
	base  http.RoundTripper
	token string
	ids   map[string]string
}

// Replay repeats a recording against an account, which may be a simulated one, and returns the differences between its
// answers and the recorded ones: one line each, without repetitions. cluster is the cluster that stands for the
// recorded one; 0 if the recording makes its own.
//
// Compared are the status, the scopes, whether there is a rate limit, the keys of an answer, the types of values, and
// the values that do not depend on time. Lists of rows are compared as sets, as their length depends on time.
func Replay(ctx context.Context, head Header, calls []Exchange, base http.RoundTripper, token string, cluster int) (lines []string, err error) {
	r := &replay{base: base, token: token, ids: map[string]string{}}
	if head.Cluster != 0 {
		r.ids[fmt.Sprint(head.Cluster)] = fmt.Sprint(cluster)
	}
	started := time.Now()
	for _, call := range calls {
		if err := pause(ctx, time.Until(started.Add(time.Duration(call.At*float64(time.Second))))); err != nil {
			return lines, err
		}
		differences, err := r.compare(ctx, call)
		if err != nil {
			return lines, err
		}
		for _, d := range differences {
			line := fmt.Sprintf("%s %s: %s", call.Method, numbers(call.Path), d)
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines, nil
}

func (r *replay) compare(ctx context.Context, call Exchange) (differences []string, err error) {
	path, query, _ := strings.Cut(call.Path, "?")
	parts := strings.Split(path, "/")
	for n, part := range parts {
		if own := r.ids[part]; own != "" {
			parts[n] = own
		}
	}
	req, err := http.NewRequestWithContext(ctx, call.Method, "https://linode.test/v4beta"+strings.Join(parts, "/")+"?"+query,
		strings.NewReader(r.translate(string(call.Body))))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	if call.Filter != "" {
		req.Header.Set("X-Filter", r.translate(call.Filter))
	}
	resp, err := r.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	say := func(what string, recorded, here any) {
		if recorded != here {
			differences = append(differences, fmt.Sprintf("%s: recorded %v, here %v", what, recorded, here))
		}
	}
	if say("status", call.Status, resp.StatusCode); len(differences) > 0 {
		return differences, nil
	}
	say("scopes", call.Needs, resp.Header.Get("X-Accepted-OAuth-Scopes"))
	say("rate limit", call.Limited, resp.Header.Get("X-RateLimit-Limit") != "")
	var recorded, here any
	if json.Unmarshal(call.Answer, &recorded) == nil && json.Unmarshal(scrub(body), &here) == nil {
		r.pair(recorded, here)
		r.values("", recorded, here, say)
	}
	return differences, nil
}

// translate replaces recorded ids in a body or a filter: numbers in a JSON text.
func (r *replay) translate(text string) string {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.UseNumber()
	var value any
	if text == "" || decoder.Decode(&value) != nil {
		return text
	}
	var walk func(any) any
	walk = func(value any) any {
		switch value := value.(type) {
		case map[string]any:
			for key := range value {
				value[key] = walk(value[key])
			}
		case []any:
			for n := range value {
				value[n] = walk(value[n])
			}
		case json.Number:
			if own := r.ids[value.String()]; own != "" {
				return json.Number(own)
			}
		}
		return value
	}
	out, _ := json.Marshal(walk(value))
	return string(out)
}

// pair notes which id here stands for which recorded one: of objects in the same place, and of rows of a list in their
// order, among those that are not paired yet.
func (r *replay) pair(recorded, here any) {
	switch recorded := recorded.(type) {
	case map[string]any:
		here, _ := here.(map[string]any)
		for _, key := range []string{"id", "instance_id"} {
			was, is := idText(recorded[key]), idText(here[key])
			if was != "" && is != "" && r.ids[was] == "" {
				r.ids[was] = is
			}
		}
		for key := range recorded {
			r.pair(recorded[key], here[key])
		}
	case []any:
		here, _ := here.([]any)
		rest := slices.DeleteFunc(slices.Clone(here), func(row any) bool {
			object, _ := row.(map[string]any)
			return slices.Contains(slices.Collect(maps.Values(r.ids)), idText(object["id"]))
		})
		for _, row := range recorded {
			object, _ := row.(map[string]any)
			known := r.ids[idText(object["id"])]
			at := slices.IndexFunc(here, func(other any) bool {
				object, _ := other.(map[string]any)
				return known != "" && idText(object["id"]) == known
			})
			switch {
			case at >= 0:
				r.pair(row, here[at])
			case known == "" && len(rest) > 0:
				r.pair(row, rest[0])
				rest = rest[1:]
			}
		}
	}
}

// idText is an id as it stands in a path; "" if it is none.
func idText(value any) string {
	switch value := value.(type) {
	case float64:
		return fmt.Sprintf("%.0f", value)
	case string:
		if slotID.MatchString(value) {
			return value
		}
	}
	return ""
}

// values compares two values in the same place.
func (r *replay) values(where string, recorded, here any, say func(string, any, any)) {
	key := where[strings.LastIndex(where, ".")+1:]
	switch was := recorded.(type) {
	case map[string]any:
		is, ok := here.(map[string]any)
		if !ok {
			say(where, "an object", kind(here))
			return
		}
		all := maps.Clone(was)
		maps.Copy(all, is)
		for _, key := range slices.Sorted(maps.Keys(all)) {
			at := strings.TrimPrefix(where+"."+key, ".")
			_, before := was[key]
			_, now := is[key]
			switch {
			case !now:
				say(at, "the key", "none")
			case !before:
				say(at, "none", "the key")
			default:
				r.values(at, was[key], is[key], say)
			}
		}
	case []any:
		is, ok := here.([]any)
		if !ok {
			say(where, "a list", kind(here))
		} else if len(was) > 0 && len(is) > 0 {
			if _, rows := was[0].(map[string]any); rows {
				r.values(where+"[]", was[0], is[0], say)
			}
		}
	default:
		if key == "instance_id" || key == "image" { // depends on time
			return
		}
		if k := kind(recorded); k != kind(here) {
			say(where, k, kind(here))
		} else if slices.Contains(plain, key) && k == "text" {
			say(where, fmt.Sprintf("%q", recorded), fmt.Sprintf("%q", here))
		}
	}
}

func kind(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case float64:
		return "a number"
	case bool:
		return "a bool"
	case []any:
		return "a list"
	}
	return "an object"
}
