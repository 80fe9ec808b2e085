#!/bin/bash -eu
# Builds the targets for ClusterFuzz: each is a program in $OUT with a seed corpus and a dictionary.
#
# The engine has its own instrumentation and the oracle Atheris's, so no sanitizer is compiled in:
# a disagreement raises an exception and a panic is caught, which libFuzzer keeps as any crash.
# C code built with the sanitizer's flags would not load into a plain interpreter.
unset CFLAGS CXXFLAGS RUSTFLAGS
export XDG_CACHE_HOME=$WORK/cache

project=$SRC/laminardb-manifest-oracle
version=$(python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
base=$(python3 -c 'import sys; print(sys.base_prefix)')

# Fuzzers run in an image without this interpreter: take it along, with what it links to.
python=$OUT/python
rm -rf "$python"
mkdir -p "$python/bin" "$python/lib"
cp "$base/bin/$version" "$python/bin/python3"
tar -C "$base/lib" --exclude=site-packages --exclude=test --exclude=__pycache__ --exclude='*.a' \
  -cf - "$version" | tar -C "$python/lib" -xf -
ldd "$python/bin/python3" "$python/lib/$version"/lib-dynload/*.so | awk '$2 == "=>" && $3 ~ /^\// {print $3}' \
  | grep -Ev '/(libc|libm|libdl|librt|libutil|libpthread)\.so' | sort -u | xargs -r cp -Lt "$python/lib"
python3 -m pip install --target "$python/lib/$version/site-packages" "$project[fuzz]"

fuzz=(env -C "$WORK" PYTHONHOME="$python" "$python/bin/python3" -P -m)
"${fuzz[@]}" fuzz engine build 0.33.0
mkdir -p "$OUT/cache/laminardb-manifest-oracle"
cp -r "$XDG_CACHE_HOME/laminardb-manifest-oracle/engines" "$OUT/cache/laminardb-manifest-oracle/"

for target in manifests raw; do
  cat > "$OUT/$target" <<'END'
#!/bin/sh
# LLVMFuzzerTestOneInput: by this word ClusterFuzz knows a fuzz target.
here=$(cd "$(dirname "$0")" && pwd)
export XDG_CACHE_HOME=$here/cache PYTHONHOME=$here/python PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH=$here/python/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
exec "$here/python/bin/python3" -P -m "fuzz.targets.$(basename "$0")" "$@"
END
  chmod +x "$OUT/$target"
  "${fuzz[@]}" fuzz.dictionary v10 > "$OUT/$target.dict"
  (cd "$project/corpora/cases" && python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" v10)
done
