import { defineConfig } from 'vitest/config'
import { COMPILE_CACHE } from './packages/testkit/src/compile-cache.ts'
import { SlowestReporter } from './tools/check/slowest-reporter.ts'

/** Sources run unbuilt: workspace packages resolve to their `development` export. */
const conditions = ['development', 'module', 'node']
const shared = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
}
const base = {
  pool: 'forks' as const,
  execArgv: ['--conditions=development'],
  // Threads and programs that a test starts load sources. It saves the gateway's tests a third of their processor time.
  env: COMPILE_CACHE,
  testTimeout: 20_000,
  hookTimeout: 30_000,
  // One second, the default, is short for a database on a busy machine.
  expect: { poll: { timeout: 10_000 } },
}
/**
 * Files share a worker and its imports: importing the authority again for each file took three quarters of the time. So
 * a test file must restore every global, environment variable and module state that it changes.
 */
const together = { ...base, isolate: false }

const AUTHORITY = 'apps/authority/src/**/*.test.ts'
/** Tests of code that differs per engine. `check` runs these on PostgreSQL, and no other authority test. */
const DATABASE = 'apps/authority/src/**/*.database.test.ts'
/** Tests next to the code that take over 2 s: they run with the end-to-end tests. */
const SLOW = ['{packages,apps}/*/src/**/*.slow.test.ts', 'tools/**/*.slow.test.ts']
/** Tests with a token. Its library reads the folder of the token once in a process: each file has a process. */
const TOKEN = [
  'apps/authority/src/signing/{lost-token.slow,find-key,pkcs11-signer}.test.ts',
  'apps/authority/src/commands/rotate-in-token.slow.test.ts',
]
/** Tests that run in `check:nightly` only. docs/project/tests.md lists them. */
const NIGHTLY = ['tests/{e2e,console}/**/*.nightly.test.ts', '{packages,apps}/*/src/**/*.nightly.test.ts']

const TEST_DATABASES = 'tools/check/test-databases.ts'
const TEST_CONSOLE = 'tools/check/test-console.ts'
const onPostgres = {
  ...together,
  env: { ...COMPILE_CACHE, CHANCERY_TEST_DATABASE: 'postgres' },
  globalSetup: [TEST_DATABASES],
}
// Hooks start whole networks and browsers.
const endToEnd = { ...base, globalSetup: [TEST_DATABASES], testTimeout: 60_000, hookTimeout: 120_000 }

/** docs/project/tests.md: which command runs which project. */
export default defineConfig({
  ...shared,
  test: {
    reporters: ['default', new SlowestReporter()],
    projects: [
      {
        ...shared,
        test: {
          ...together,
          name: 'packages',
          include: [
            'packages/*/src/**/*.test.ts',
            'apps/gateway/src/**/*.test.ts',
            'apps/cli/src/**/*.test.ts',
            'tools/**/*.test.ts',
          ],
          exclude: [...SLOW, ...NIGHTLY],
        },
      },
      {
        ...shared,
        test: {
          ...together,
          name: 'sqlite',
          include: [AUTHORITY],
          exclude: [...SLOW, ...TOKEN, ...NIGHTLY],
          env: { ...COMPILE_CACHE, CHANCERY_TEST_DATABASE: 'sqlite' },
        },
      },
      { ...shared, test: { ...onPostgres, name: 'postgres', include: [DATABASE] } },
      {
        ...shared,
        test: { ...onPostgres, name: 'postgres-nightly', include: [AUTHORITY], exclude: [DATABASE, ...TOKEN] },
      },
      {
        ...shared,
        test: {
          ...together,
          name: 'console',
          include: ['apps/console/src/**/*.test.ts', 'tests/console/**/*.test.ts'],
          exclude: NIGHTLY,
          globalSetup: [TEST_CONSOLE],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        ...shared,
        test: { ...endToEnd, isolate: false, name: 'e2e', include: ['tests/e2e/**/*.test.ts'], exclude: NIGHTLY },
      },
      { ...shared, test: { ...endToEnd, isolate: false, name: 'slow', include: SLOW, exclude: TOKEN } },
      { ...shared, test: { ...endToEnd, name: 'token', include: TOKEN } },
      {
        ...shared,
        test: { ...endToEnd, name: 'nightly', include: NIGHTLY, globalSetup: [TEST_DATABASES, TEST_CONSOLE] },
      },
    ],
  },
})
