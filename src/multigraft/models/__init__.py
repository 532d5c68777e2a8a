"""Language models behind one method, `generate`: OpenAI-compatible endpoints, embedded llama.cpp, a scripted one."""
