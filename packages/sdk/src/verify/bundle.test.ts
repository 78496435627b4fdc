import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { expect, it } from 'vitest'

const SOURCE = join(import.meta.dirname, '..')

/**
 * What a program loads that uses these names: the first module, and whether it imports a module of Node.js or another
 * package. What is loaded later, by `import()`, is another module.
 */
async function bundle(
  entry: string,
  names: string,
): Promise<{ readonly bytes: number; readonly foreign: readonly string[] }> {
  const from = entry === '' ? 'index.ts' : entry
  const built = await rolldown({
    input: 'program',
    platform: 'browser',
    logLevel: 'silent',
    resolve: { conditionNames: ['development', 'browser', 'import', 'default'] },
    plugins: [
      {
        name: 'program',
        resolveId: (source) =>
          source === 'program' ? { id: source } : isBuiltin(source) ? { id: source, external: true } : undefined,
        load: (id) => (id === 'program' ? `export { ${names} } from ${JSON.stringify(join(SOURCE, from))}` : undefined),
      },
    ],
  })
  const { output } = await built.generate({ format: 'esm', minify: true })
  const first = output.find((one) => one.type === 'chunk' && one.isEntry)
  if (first?.type !== 'chunk') throw new Error('there is no module')
  const chunks = new Map(output.map((one) => [one.fileName, one]))
  const loaded = new Set([first.fileName])
  for (const name of loaded) {
    const chunk = chunks.get(name)
    if (chunk?.type === 'chunk') for (const each of chunk.imports) loaded.add(each)
  }
  const texts = [...loaded].flatMap((name) => {
    const chunk = chunks.get(name)
    return chunk?.type === 'chunk' ? [chunk.code] : []
  })
  const foreign = [...loaded].filter((name) => !chunks.has(name))
  return { bytes: gzipSync(texts.join(''), { level: 9 }).length, foreign }
}

/** Limits in kB of 1024 bytes. A gateway loads what verifies a decision when the first one is verified. */
it.each([
  ['a certificate checked at a gateway', 'gateway/index.ts', 'createGatewayClient', 15],
  ['one question to an authority, verified', '', 'createDecider', 22],
  ['trust in networks', '', 'trustNetworks', 28],
  ['a node', '', 'joinNetwork', 42],
  ['an authorizer', '', 'createAuthorizer', 16],
  ['one record verified', '', 'verifyDecision', 27],
  ['the verify entry', 'verify/index.ts', 'verifyRecord, verifyRequest, RelyingParty', 28],
  ['evidence packs', 'evidence/index.ts', 'readPack, verifyPack, explainPack', 34],
  ['past states', 'evidence/index.ts', 'verifyPast', 41],
  ['decision bundles', 'evidence/index.ts', 'readBundle, verifyBundle, writeBundle', 26],
] as const)(
  '%s is small, and imports neither a module of Node.js nor another package',
  async (name, entry, names, most) => {
    const { bytes, foreign } = await bundle(entry, names)
    process.stdout.write(`${name} (${names}): ${bytes} bytes compressed\n`)
    expect(foreign).toEqual([])
    expect(bytes).toBeLessThanOrEqual(most * 1024)
  },
  60_000,
)
