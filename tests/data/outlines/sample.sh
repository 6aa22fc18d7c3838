#!/bin/bash
LIMIT=1
export NAME="é"

# Starts.
start() { local inner=1; }
function stop { echo; }
alias ll='ls -l'
