// The entry point of threads: they load nothing else of this package, so that a service starts sooner.
export * from './serve-calls.ts'
export * from './lower-priority.ts'
export * from './thread.ts'
