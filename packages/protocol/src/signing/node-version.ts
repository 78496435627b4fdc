/** The part of `process` used here; this package compiles without Node's types. */
interface NodeProcess<Modules> {
  readonly versions: { readonly node?: string }
  getBuiltinModule<Name extends keyof Modules>(name: Name): Modules[Name]
}

/** The first version with every function that the client library uses (docs/decisions/0001). */
const FIRST = [22, 13] as const

/** Returns the sentence for a version that is too old, or undefined. */
export function findVersionProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < FIRST[0] || (major === FIRST[0] && minor < FIRST[1])
  return isOld
    ? `Chancery needs Node.js ${FIRST.join('.')} or later, and this is ${version}: install a newer one.`
    : undefined
}

/** Returns the process, or throws one sentence where Node.js is too old. Without it the first missing function would throw. */
export function requireNode<Modules>(): NodeProcess<Modules> {
  const { process } = globalThis as unknown as { readonly process: NodeProcess<Modules> }
  const problem = findVersionProblem(process.versions.node ?? '')
  // Other runtimes name the version of Node.js that they imitate, or none.
  if (process.versions.node !== undefined && problem !== undefined) throw new Error(problem)
  return process
}
