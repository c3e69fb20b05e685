# Sourced: find_python VERSION prints an interpreter of it, or nothing.
# Interpreters come from PATH, from pyenv, or through uv (pip install uv), in this order.

works() { "$1" -c "import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$2')" 2>/dev/null; }

find_python() {
  local version=$1 candidate
  for candidate in "python$version" "$HOME"/.pyenv/versions/"$version".*/bin/python; do
    works "$candidate" "$version" && { echo "$candidate"; return; }
  done
  command -v uv >/dev/null || return
  uv python install --quiet "$version" 2>/dev/null
  uv python find "$version" 2>/dev/null
}
