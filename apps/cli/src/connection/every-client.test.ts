import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const SOURCES = join(import.meta.dirname, '..')

/** Files below src that match, without tests. */
function filesWith(pattern: RegExp): string[] {
  return globSync('**/*.ts', { cwd: SOURCES })
    .filter((path) => !/\.(?:test|suite)\.ts$/.test(path) && pattern.test(readFileSync(join(SOURCES, path), 'utf8')))
    .toSorted()
}

// A client made elsewhere would print answers of a server that was not compared with the configured network.
it('only the connection makes a client of the configured authority, and it compares the network first', () => {
  expect(filesWith(/\b(?:createClient|openConnection)\(/)).toEqual([
    // Their own network, which they create and start themselves.
    'commands/demo/create-data.ts',
    'commands/demo/demo-gateway.ts',
    'commands/demo/demo-start.ts',
    'commands/demo/two-companies.ts',
    // Each decision is verified with the pinned keys.
    'commands/mcp/gate.ts',
    // Waits until the authority that it starts is ready.
    'commands/up/start-authority.ts',
    'connection/connection.ts',
    // The comparison itself.
    'connection/own-network.ts',
  ])
  const connection = readFileSync(join(SOURCES, 'connection/connection.ts'), 'utf8')
  expect(connection).toContain('genesis === undefined ? {} : { fetch: fetchFromNetwork(url, genesis) }')
})

it('only commands about other networks ask without the own configuration', () => {
  expect(filesWith(/\bopenForeign\(/)).toEqual([
    'commands/agents/card-verify.ts',
    'commands/federation/fetch-network.ts',
    'commands/profile/use.ts',
    'commands/revocation-feeds/import.ts',
    'commands/watch/watch.ts',
    'connection/connection.ts',
  ])
})
