# SPDX-License-Identifier: Apache-2.0
# What zsh offers after some words, a line each:
#
#     zsh -f offer.zsh COMMANDS WORDS
#
# COMMANDS make the completion known. It runs in a zsh with a terminal of its own, where every match is
# also written to a file. With the options O, A and D compadd only asks what would match.
zmodload zsh/zpty
hits=$(mktemp)
zpty inner zsh -f -i
zpty -w inner "PROMPT=; autoload -Uz compinit; $1
compadd() {
    local -a found
    [[ -z \${argv[(r)-[OAD]]} ]] || { builtin compadd \"\$@\"; return }
    builtin compadd -A found \"\$@\"
    (( ! \$#found )) || print -rl -- \$found >>$hits
    builtin compadd \"\$@\"
}
over() { print over >$hits.over }
comppostfuncs=(over)
bindkey '^I' complete-word"
zpty -w -n inner "$2"$'\t'
for i in {1..600}; do
    [[ ! -s $hits.over ]] || break
    sleep 0.1
done
[[ -s $hits.over ]] || print 'zsh never came to an end'
LC_ALL=C sort -u $hits
rm -f $hits $hits.over
zpty -d inner
