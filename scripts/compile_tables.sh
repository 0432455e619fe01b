#!/usr/bin/env bash
# Compile tables.tex of a tables folder to tables.pdf, if pdflatex is installed and the PDF is not
# current. TeX is optional: if it fails, a warning says so, and its log is kept as tables.log.
#
# Usage: compile_tables.sh FOLDER
set -euo pipefail

if [ $# -ne 1 ]; then
    printf 'Usage: compile_tables.sh FOLDER\n' >&2
    exit 2
fi
say() { printf 'compile_tables.sh: %s\n' "$1" >&2; }

folder=$(cd -- "$1" && pwd)
if [ ! -f "$folder/tables.tex" ]; then
    say "$folder/tables.tex is not there"
    exit 1
fi
if ! command -v pdflatex >/dev/null; then
    say "pdflatex is not installed, so there is no $folder/tables.pdf (the .tex files are complete)"
    exit 0
fi

stamp=$folder/.tables.pdf.stamp
fingerprint() { (cd -- "$1" && shopt -s nullglob && cksum -- ./*.tex more/*.tex tables.pdf); }
if [ -f "$stamp" ] && [ -f "$folder/tables.pdf" ] &&
    [ "$(fingerprint "$folder")" = "$(cat -- "$stamp")" ]; then
    say "$folder/tables.pdf is up to date"
    exit 0
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/compile_tables.XXXXXX")
new=""
trap 'rm -rf -- "$work"; if [ -n "$new" ]; then rm -f -- "$new"; fi' EXIT
# Compile a copy: LaTeX does not accept every folder name, and must not write anywhere else.
cp -- "$folder"/*.tex "$work"
if compgen -G "$folder/more/*.tex" >/dev/null; then
    mkdir -- "$work/more"
    cp -- "$folder"/more/*.tex "$work/more"
fi
compile() {
    (
        cd -- "$work"
        # Whatever a table contains, no program is run and no user file is read. With a fixed date,
        # equal tables give identical files.
        export openin_any=p openout_any=p SOURCE_DATE_EPOCH=0 FORCE_SOURCE_DATE=1
        limit=()
        if command -v timeout >/dev/null; then limit=(timeout "${TEX_SECONDS:-600}"); fi
        exec ${limit[@]+"${limit[@]}"} pdflatex -halt-on-error -interaction=nonstopmode -no-shell-escape tables.tex
    ) </dev/null >"$work/output.txt" 2>&1
}
# Run twice: column widths and page numbers come from the first run.
if ! { compile && compile; }; then
    if [ -f "$work/tables.log" ]; then
        cp -- "$work/tables.log" "$folder/tables.log"
    else
        cp -- "$work/output.txt" "$folder/tables.log"
    fi
    # Do not leave a PDF of other tables than those beside it.
    rm -f -- "$folder/tables.pdf" "$stamp"
    say "warning: pdflatex failed, so there is no $folder/tables.pdf (the .tex files are complete). The last
lines of $folder/tables.log:"
    tail -n 20 -- "$folder/tables.log" | sed 's/^/    /' >&2
    exit 0
fi
# Copy into the folder, then rename: the PDF is complete under its final name.
new=$(mktemp "$folder/.tables.pdf.XXXXXX")
cat -- "$work/tables.pdf" >"$new"
chmod "$(printf '%o' "$((0666 & ~0$(umask)))")" "$new"
mv -f -- "$new" "$folder/tables.pdf"
new=""
rm -f -- "$folder/tables.log"
# Fingerprint the copies, as another run may have changed the files in the meantime.
fingerprint "$work" >"$stamp.$$"
mv -f -- "$stamp.$$" "$stamp"
say "wrote $folder/tables.pdf"
