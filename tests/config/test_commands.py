"""Commands of a folder are trusted with the files of the folder that they run."""

import pytest

from odl.config import commands


@pytest.mark.parametrize(
    ("command", "files", "code"),
    [
        ("./tell.sh", ["tell.sh"], True),
        ("tell", ["tell"], True),
        ("python notify.py", ["notify.py", "helper.py", "package/part.py"], True),
        ("python3 -X dev notify", ["notify"], True),
        ("python -m notify.main", ["notify/main.py", "notify/__init__.py"], True),
        ("python -m notify", ["notify/__main__.py"], True),
        ("sh -c './tell.sh; ./more.sh'", ["tell.sh", "more.sh"], True),
        ("env A=b ./tell.sh", ["tell.sh"], True),
        ("/usr/bin/run --with=sub/tell.rb", ["sub/tell.rb"], True),
        ("{folder}/tell.sh", ["tell.sh"], True),
        ("./tell.sh --log out.log", ["out.log"], False),
        ("mail -s new somebody", ["posts.jsonl"], False),
    ],
)
def test_a_command_whose_file_is_another_has_to_be_trusted_anew(
    tmp_path, monkeypatch, command, files, code
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "news"
    command = command.format(folder=folder)
    for name in {"tell.sh", *files}:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("one\n")
    (folder / "odl.yaml").write_text(f'sources: [a]\nnotify: "{command}"\n')
    (words,) = commands.trust(folder)
    assert commands.is_trusted(folder, words)
    for name in files:
        (folder / name).write_text("two\n")
        assert commands.is_trusted(folder, words) is not code, name
        (folder / name).write_text("one\n")
        assert commands.is_trusted(folder, words)
    if code:
        (folder / files[0]).unlink()
        assert not commands.is_trusted(folder, words)
