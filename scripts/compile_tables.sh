#!/usr/bin/env bash
# Compiles the document tables.tex of a tables folder to tables.pdf beside it, where pdflatex is
# installed. Does nothing where the PDF belongs to the files that are there. When it fails,
# LaTeX's own log is kept as tables.log.
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
fingerprint() { (cd -- "$1" && cksum -- ./*.tex tables.pdf); }
if [ -f "$stamp" ] && [ -f "$folder/tables.pdf" ] &&
    [ "$(fingerprint "$folder")" = "$(cat -- "$stamp")" ]; then
    say "$folder/tables.pdf is up to date"
    exit 0
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/compile_tables.XXXXXX")
new=""
trap 'rm -rf -- "$work"; if [ -n "$new" ]; then rm -f -- "$new"; fi' EXIT
# Copies, because LaTeX cannot be pointed at a folder of any name, and must write nowhere else.
cp -- "$folder"/*.tex "$work"
compile() {
    (
        cd -- "$work"
        # No program is started and no file of the user is read, whatever a table holds. The fixed
        # date makes the same tables the same bytes.
        export openin_any=p openout_any=p SOURCE_DATE_EPOCH=0 FORCE_SOURCE_DATE=1
        exec pdflatex -halt-on-error -interaction=nonstopmode -no-shell-escape tables.tex
    ) </dev/null >"$work/output.txt" 2>&1
}
# Twice: column widths and page numbers come from the first run.
if ! { compile && compile; }; then
    if [ -f "$work/tables.log" ]; then
        cp -- "$work/tables.log" "$folder/tables.log"
    else
        cp -- "$work/output.txt" "$folder/tables.log"
    fi
    # A PDF of other tables than those beside it would mislead.
    rm -f -- "$folder/tables.pdf" "$stamp"
    say "pdflatex failed on $folder/tables.tex. The last lines of $folder/tables.log:"
    tail -n 20 -- "$folder/tables.log" | sed 's/^/    /' >&2
    exit 1
fi
# Under its own name only when complete: a copy within the folder, then a rename.
new=$(mktemp "$folder/.tables.pdf.XXXXXX")
cat -- "$work/tables.pdf" >"$new"
chmod "$(printf '%o' "$((0666 & ~0$(umask)))")" "$new"
mv -f -- "$new" "$folder/tables.pdf"
new=""
rm -f -- "$folder/tables.log"
# Of the copies: the files beside the PDF may have been changed by another run in the meantime.
fingerprint "$work" >"$stamp.$$"
mv -f -- "$stamp.$$" "$stamp"
say "wrote $folder/tables.pdf"
