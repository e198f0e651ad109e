package fetch

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// askAt asks a server for its branch main in this process, as a child would.
func askAt(t *testing.T, url string, login *Login) error {
	t.Helper()
	_, err := question{Remote: Remote{URL: url, Login: login}}.answer(t.Context())
	return err
}

// TestLoginRequiresTLS: to a server that the CA of the Secret has signed.
func TestLoginRequiresTLS(t *testing.T) {
	var sent []string
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusUnauthorized)
	})
	open, closed := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer open.Close()
	defer closed.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: closed.Certificate().Raw})
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:secret"))
	tests := []struct {
		name  string
		url   string
		login *Login
		sent  string // "": nothing is sent
		says  string
	}{
		{"a password over http", open.URL, &Login{Username: "me", Password: "secret"}, "", "starts with https://"},
		{"a token over http", open.URL, &Login{Bearer: "secret"}, "", "starts with https://"},
		{"a password over https", closed.URL, &Login{Username: "me", Password: "secret", CA: ca}, basic, "auth"},
		{"a token over https", closed.URL, &Login{Bearer: "secret", CA: ca}, "Bearer secret", "auth"},
		{"an unknown server", closed.URL, &Login{Bearer: "secret"}, "", "certificate"},
		{"a CA that is none", closed.URL, &Login{Bearer: "secret", CA: []byte("none")}, "", "its ca.crt contains no PEM certificate"},
		{"an app without a key", closed.URL, &Login{App: &App{ID: "1"}, CA: ca}, "", "read the githubAppPrivateKey: it is not PEM"},
		{"an app over http", closed.URL, &Login{App: &App{ID: "1", API: open.URL}, CA: ca}, "", "does not start with https://"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sent = nil
			err := askAt(t, tt.url+"/fleet", tt.login)
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, want %q", err, tt.says)
			}
			if got := strings.Join(sent, " "); got != tt.sent {
				t.Errorf("sent %q, want %q", got, tt.sent)
			}
		})
	}
}

// TestGitHubAppToken: it signs for itself, and logs in with what it gets.
func TestGitHubAppToken(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var login string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/app/installations/7/access_tokens" {
			login = r.Header.Get("Authorization")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
		if len(parts) != 3 || r.Method != http.MethodPost {
			t.Errorf("%s with %d parts", r.Method, len(parts))
			return
		}
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		signature, err := base64.RawURLEncoding.DecodeString(parts[2])
		if err != nil || rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature) != nil {
			t.Errorf("the signature is not that of the app: %v", err)
		}
		claims, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil || !strings.Contains(string(claims), `"iss":"12"`) {
			t.Errorf("claims %s, %v", claims, err)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"token":"ghs_1"}`))
	}))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	app := &App{ID: "12", Installation: "7", Key: private, API: server.URL}
	if err := askAt(t, server.URL+"/fleet", &Login{App: app, CA: ca}); err == nil {
		t.Error("the server has refused it")
	}
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:ghs_1")); login != want {
		t.Errorf("it logs in with %q, want %q", login, want)
	}
	if _, err := (App{Key: []byte("x")}).login(context.Background(), server.Client()); err == nil {
		t.Error("a key that is none is used")
	}
}
