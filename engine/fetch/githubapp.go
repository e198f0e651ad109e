package fetch

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// App is a GitHub App that is installed for an organization or an account.
type App struct {
	ID, Installation string
	Key              []byte // RSA, PEM
	API              string // the URL of the API; "": that of github.com
}

// githubAPI is the API from which installations on github.com get their tokens.
const githubAPI = "https://api.github.com"

// api is the URL of the API from which the login gets a token; "" for none.
func (l *Login) api() string {
	if l == nil || l.App == nil {
		return ""
	}
	return cmp.Or(l.App.API, githubAPI)
}

// login requests a token of the installation from GitHub, which is valid for an hour.
func (a App) login(ctx context.Context, client *http.Client) (*githttp.BasicAuth, error) {
	api := cmp.Or(strings.TrimSuffix(a.API, "/"), githubAPI)
	if !strings.HasPrefix(api, "https://") {
		return nil, errors.New("its githubAppBaseURL does not start with https://")
	}
	signed, err := a.sign(time.Now())
	if err != nil {
		return nil, err
	}
	at := api + "/app/installations/" + a.Installation + "/access_tokens"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+signed)
	req.Header.Set("Accept", "application/vnd.github+json")
	answer, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("request a token from GitHub: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		return nil, fmt.Errorf("request a token from GitHub for installation %s of app %s: %s", a.Installation, a.ID,
			answer.Status)
	}
	var found struct{ Token string }
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&found); err != nil {
		return nil, fmt.Errorf("read the token from GitHub: %w", err)
	}
	return &githttp.BasicAuth{Username: "x-access-token", Password: found.Token}, nil
}

// sign returns the JSON web token that identifies the app to GitHub.
func (a App) sign(now time.Time) (string, error) {
	key, err := a.key()
	if err != nil {
		return "", fmt.Errorf("read the githubAppPrivateKey: %w", err)
	}
	claims, err := json.Marshal(map[string]any{
		"iss": a.ID, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(5 * time.Minute).Unix(), // clocks differ
	})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	return text + "." + encode(signature), err
}

// key reads the private key, in GitHub's format or in PKCS #8.
func (a App) key() (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(bytes.TrimSpace(a.Key))
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*rsa.PrivateKey)
	if err == nil && !ok {
		err = errors.New("it is not an RSA key")
	}
	return key, err
}
