package source

import (
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
)

// A system is a CI system, recognized by the variables that it sets.
type system struct {
	name string
	mark string // the variable that it always sets
	// change are the variables with the target of a change, the most reliable first; trunk are the
	// variables with the default branch, if there is no change.
	change, trunk []word
	before        []word // the commit before a push to the trunk
	whole         string // how to check out the complete history
}

// word is a variable that names a branch or a commit.
type word struct {
	name   string
	commit bool
}

// ciSystems are CI systems, with their documented variables. In another one, the clone has to know the
// default branch of its remote.
func ciSystems() []system {
	branch := func(name string) word { return word{name: name} }
	commit := func(name string) word { return word{name: name, commit: true} }
	return []system{
		{name: "GitHub Actions", mark: "GITHUB_ACTIONS", change: []word{branch("GITHUB_BASE_REF")},
			whole: "check out with fetch-depth: 0"},
		{name: "GitLab CI", mark: "GITLAB_CI",
			change: []word{commit("CI_MERGE_REQUEST_TARGET_BRANCH_SHA"), commit("CI_MERGE_REQUEST_DIFF_BASE_SHA"),
				branch("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"), commit("CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_SHA"),
				branch("CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME")},
			trunk: []word{branch("CI_DEFAULT_BRANCH")}, before: []word{commit("CI_COMMIT_BEFORE_SHA")}, whole: `set the variable GIT_DEPTH: "0"`},
	}
}

// ci returns the CI system of this process; the zero system for none.
func (s *Source) ci() system {
	for _, sys := range ciSystems() {
		if s.getenv(sys.mark) != "" {
			return sys
		}
	}
	return system{}
}

// values returns the values of variables, for branches without refs/heads/.
func (s *Source) values(words []word) (points []point) {
	for _, w := range words {
		value := s.getenv(w.name)
		if strings.Trim(value, "0") == "" || value == "false" {
			continue
		}
		points = append(points, point{
			name: strings.TrimPrefix(value, "refs/heads/"), commit: w.commit, by: w.name,
		})
	}
	return points
}

// githubEvent is the part of GitHub's event file about the change.
type githubEvent struct {
	Before      string `json:"before"`
	PullRequest struct {
		Base struct {
			SHA string `json:"sha"`
		} `json:"base"`
	} `json:"pull_request"`
	MergeGroup struct {
		BaseSHA string `json:"base_sha"`
	} `json:"merge_group"`
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
}

// maxEvent is the maximum size of the event file, in bytes.
const maxEvent = 32 << 20

// event reads the file that GITHUB_EVENT_PATH names. An unreadable file is ignored.
func (s *Source) event() (e githubEvent) {
	const by = "GITHUB_EVENT_PATH"
	file, err := os.Open(s.getenv(by))
	if err != nil {
		return e
	}
	defer file.Close()
	if json.NewDecoder(io.LimitReader(file, maxEvent)).Decode(&e) != nil {
		return githubEvent{}
	}
	return e
}

// pushed returns the commit of the trunk before the push of HEAD, if the CI system reports it. A push
// can contain several commits, which are compared together.
func (s *Source) pushed() (point, bool) {
	if points := s.values(s.ci().before); len(points) > 0 {
		return points[0], true
	}
	if s.getenv("GITHUB_ACTIONS") != "" {
		if sha := s.event().Before; strings.Trim(sha, "0") != "" {
			return point{name: sha, commit: true, by: "GITHUB_EVENT_PATH"}, true
		}
	}
	return point{}, false
}

var githubMerge = regexp.MustCompile(`^refs/pull/[0-9]+/merge$`)

// github adds what GitHub reports outside of its variables.
func (s *Source) github(change, trunk []point, head commit) ([]point, []point) {
	if s.getenv("GITHUB_ACTIONS") == "" {
		return change, trunk
	}
	const by = "GITHUB_EVENT_PATH"
	if githubMerge.MatchString(s.getenv("GITHUB_REF")) && s.getenv("GITHUB_SHA") == head.id && len(head.parents) == 2 {
		// GitHub has merged the change into the tip of its target branch.
		change = append(change, point{name: head.parents[0], commit: true, by: "GITHUB_REF"})
	}
	e := s.event()
	for _, sha := range []string{e.PullRequest.Base.SHA, e.MergeGroup.BaseSHA} {
		if sha != "" {
			change = append(change, point{name: sha, commit: true, by: by})
		}
	}
	if branch := e.Repository.DefaultBranch; branch != "" {
		trunk = append(trunk, point{name: branch, by: by})
	}
	return change, trunk
}
