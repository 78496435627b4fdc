/** The values of a settings file, and every line that could not be read. */
export interface EnvFile {
  readonly values: ReadonlyMap<string, string>
  readonly problems: readonly string[]
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * One `NAME=value` per line (protocol/core 25). Values are literal to the end of the line: quotes, spaces and `#` are
 * part of the value, because removing them would change a password. Problems name the line and never quote it, since it
 * may contain a secret.
 */
export function readEnvFile(path: string, content: string): EnvFile {
  const values = new Map<string, string>()
  const problems: string[] = []
  for (const [index, raw] of content.split('\n').entries()) {
    const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw
    const start = line.trimStart()
    if (start === '' || start.startsWith('#')) continue
    const where = `${path} line ${index + 1}`
    const equals = line.indexOf('=')
    const name = line.slice(0, Math.max(equals, 0))
    if (!NAME.test(name)) problems.push(`${where}: must read NAME=value`)
    // Refused, because one of the two values is a mistake and it is unknown which.
    else if (values.has(name)) problems.push(`${name}: given a second time in ${where}`)
    else values.set(name, line.slice(equals + 1))
  }
  return { values, problems }
}
