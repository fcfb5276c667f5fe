# A text file as a C++ constant: -DINPUT=, -DOUTPUT=, -DNAME=.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "namespace rouse::bench {\nextern const char ${NAME}[];\nconst char ${NAME}[] = R\"text(${text})text\";\n}  // namespace rouse::bench\n")
