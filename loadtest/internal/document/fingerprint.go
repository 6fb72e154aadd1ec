package document

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/goccy/go-yaml"
)

// Fingerprint returns a hash of what a file says, but for some keys of its root. Comments, the order of
// keys and how the text is laid out make no difference.
func Fingerprint(file string, but ...string) (string, error) {
	text, err := Read(file)
	if err != nil {
		return "", err
	}
	var says map[string]any
	if yaml.Unmarshal(text, &says) == nil {
		for _, key := range but {
			delete(says, key)
		}
		if plain, err := json.Marshal(says); err == nil {
			text = plain
		}
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}
