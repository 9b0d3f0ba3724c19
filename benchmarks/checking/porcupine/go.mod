module porcupine-check

go 1.18
