// Package kubetest is an in-memory API server for tests. It answers lists, and can answer some of
// them with a fault.
package kubetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"
)

// Server is an API server with kinds and objects of them. It implements
// http.RoundTripper: nothing is listened on, so that it works in a testing/synctest bubble.
type Server struct {
	// Kinds are its kinds by resource, such as v1/pods or karpenter.sh/v1/nodepools.
	Kinds map[string]string
	// Objects are the objects by resource.
	Objects map[string][]any
	// Fault returns how a request is answered, by its path below the root.
	Fault func(path string) Fault
}

// Fault is how a request is answered.
type Fault string

// The faults.
const (
	Fine    Fault = ""
	Refused Fault = "refused"    // by RBAC
	Success Fault = "a Status"   // which reports success
	Other   Fault = "other list" // of a kind that was not requested
	Hangs   Fault = "hangs"      // until the request ends
	Drips   Fault = "drips"      // the answer starts, and does not end before the request
	Later   Fault = "later"      // asks to retry in an hour
)

// Failing returns a server that answers requests for one resource, such as v1/pods, with a fault.
func Failing(kinds map[string]string, resource string, fault Fault) *Server {
	return &Server{Kinds: kinds, Fault: func(path string) Fault {
		if strings.HasSuffix(path, resource) {
			return fault
		}
		return Fine
	}}
}

// Config returns a client configuration for the server.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: "https://api.test:6443", Transport: s}
}

// RoundTrip implements http.RoundTripper.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	path := strings.Trim(req.URL.Path, "/")
	fault := Fine
	if s.Fault != nil {
		fault = s.Fault(path)
	}
	switch fault {
	case Hangs:
		<-req.Context().Done()
		return nil, req.Context().Err()
	case Drips:
		return answer(req, http.StatusOK, io.NopCloser(io.MultiReader(strings.NewReader(`{"kind":`), silence{req}))), nil
	case Success:
		return whole(req, http.StatusOK, status("Success", "", "all is well")), nil
	case Other:
		return whole(req, http.StatusOK, map[string]any{
			"kind": "ConfigMapList", "apiVersion": "v1", "metadata": map[string]any{}, "items": []any{},
		}), nil
	case Refused:
		parts := strings.Split(path, "/")
		resource, refusal := parts[len(parts)-1], status("Failure", "Forbidden", "")
		refusal["message"] = resource + ` is forbidden: User "x" cannot list resource "` + resource + `"`
		refusal["details"] = map[string]any{"kind": resource}
		if parts[0] == "apis" && len(parts) > 1 {
			refusal["details"] = map[string]any{"kind": resource, "group": parts[1]}
		}
		return whole(req, http.StatusForbidden, refusal), nil
	case Later:
		resp := whole(req, http.StatusTooManyRequests, status("Failure", "TooManyRequests", "too many requests"))
		resp.Header.Set("Retry-After", "3600")
		return resp, nil
	}
	if found := s.answer(path); found != nil {
		return whole(req, http.StatusOK, found), nil
	}
	return whole(req, http.StatusNotFound, status("Failure", "NotFound", "the server could not find "+path)), nil
}

// answer returns the object at a path; nil if there is none.
func (s *Server) answer(path string) any {
	switch path {
	case "api":
		return map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}
	case "apis":
		return map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": s.groups()}
	}
	_, path, _ = strings.Cut(path, "/") // api or apis
	if kind, known := s.Kinds[path]; known {
		items := s.Objects[path]
		if items == nil {
			items = []any{}
		}
		return map[string]any{
			"kind": kind + "List", "apiVersion": path[:strings.LastIndex(path, "/")],
			"metadata": map[string]any{"resourceVersion": "1"}, "items": items,
		}
	}
	if resources := s.resources(path); resources != nil {
		return map[string]any{
			"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": path, "resources": resources,
		}
	}
	return nil
}

func (s *Server) groups() []any {
	groups := []any{}
	for resource := range s.Kinds {
		group, version, _ := strings.Cut(resource[:strings.LastIndex(resource, "/")], "/")
		if version == "" {
			continue // v1 has no group
		}
		one := map[string]any{"groupVersion": group + "/" + version, "version": version}
		groups = append(groups, map[string]any{"name": group, "versions": []any{one}, "preferredVersion": one})
	}
	return groups
}

// resources returns the resources of a group and version; nil if there are none.
func (s *Server) resources(of string) (resources []any) {
	for resource, kind := range s.Kinds {
		if name, found := strings.CutPrefix(resource, of+"/"); found && !strings.Contains(name, "/") {
			resources = append(resources, map[string]any{
				"name": name, "kind": kind, "namespaced": false, "verbs": []string{"list"},
			})
		}
	}
	return resources
}

func status(how, reason, message string) map[string]any {
	code := map[string]int{
		"Forbidden": http.StatusForbidden, "NotFound": http.StatusNotFound, "TooManyRequests": http.StatusTooManyRequests,
	}[reason]
	return map[string]any{
		"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": how, "reason": reason,
		"message": message, "code": code,
	}
}

func whole(req *http.Request, code int, body any) *http.Response {
	raw, err := json.Marshal(body)
	if err != nil {
		code, raw = http.StatusInternalServerError, []byte(err.Error())
	}
	return answer(req, code, io.NopCloser(bytes.NewReader(raw)))
}

func answer(req *http.Request, code int, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: body, ContentLength: -1, Request: req,
	}
}

// silence is a body that never has data.
type silence struct{ req *http.Request }

// Read implements io.Reader.
func (s silence) Read([]byte) (int, error) {
	<-s.req.Context().Done()
	return 0, &url.Error{Op: "read", URL: s.req.URL.String(), Err: s.req.Context().Err()}
}
