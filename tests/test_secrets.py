"""No key, token or password of anybody is in a file of the repository."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from detect_secrets.core.scan import scan_file
from detect_secrets.settings import transient_settings

ROOT = Path(__file__).parent.parent

# Keys that have a form of their own; guessing by entropy would point at every hash.
DETECTORS = [
    "ArtifactoryDetector",
    "AWSKeyDetector",
    "AzureStorageKeyDetector",
    "DiscordBotTokenDetector",
    "GitHubTokenDetector",
    "GitLabTokenDetector",
    "JwtTokenDetector",
    "MailchimpDetector",
    "NpmDetector",
    "OpenAIDetector",
    "PrivateKeyDetector",
    "PypiTokenDetector",
    "SendGridDetector",
    "SlackDetector",
    "StripeDetector",
    "TelegramBotTokenDetector",
    "TwilioKeyDetector",
]


# The one that a worker may have; the library does not know its form yet.
CLAUDE_KEY = re.compile(rb"sk-ant-[\w-]{20,}")


def found(file: Path) -> list[str]:
    with transient_settings({"plugins_used": [{"name": name} for name in DETECTORS]}):
        secrets = [f"{file.name}:{secret.line_number} {secret.type}" for secret in scan_file(str(file))]
    return secrets + [f"{file.name} Claude key" for _ in CLAUDE_KEY.findall(file.read_bytes())]


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name]


def test_no_file_of_the_repository_holds_a_key():
    assert [secret for file in tracked() for secret in found(file)] == []


@pytest.mark.parametrize(
    "key",
    [
        "AKIA" + "IOSFODNN7EXAMPLZ",
        "ghp_" + "a1B2" * 9,
        "-----BEGIN " + "RSA PRIVATE KEY-----",
        "sk-ant-" + "api03-" + "x9" * 20,
        "pypi-AgEIcHlwaS5vcmc" + "C" * 80,
    ],
)
def test_a_key_would_be_noticed(key: str, tmp_path: Path):
    (tmp_path / "settings.py").write_text(f'value = "{key}"\n')
    assert found(tmp_path / "settings.py")


def test_no_file_with_passwords_is_tracked():
    assert not {file.name for file in tracked()} & {".env", "operator-env"}
