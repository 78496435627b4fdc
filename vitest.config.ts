import { defineConfig } from 'vitest/config'

/** Sources run unbuilt: workspace packages resolve to their `development` export. */
const conditions = ['development', 'module', 'node']
const shared = {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
}
const base = {
  pool: 'forks' as const,
  execArgv: ['--conditions=development'],
  testTimeout: 20_000,
  hookTimeout: 30_000,
  // One second, the default, is short for a database on a busy machine.
  expect: { poll: { timeout: 10_000 } },
}
/**
 * Files share a worker and what it has imported: importing the authority anew for each of them took three quarters of
 * the time. So no test file may leave a patched global, a changed environment variable or module state behind.
 */
const together = { ...base, isolate: false }

/** One test tree, run where it matters: pure packages once, the authority on both databases, whole processes last. */
export default defineConfig({
  ...shared,
  test: {
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
        },
      },
      {
        ...shared,
        test: {
          ...together,
          name: 'sqlite',
          include: ['apps/authority/src/**/*.test.ts'],
          env: { CHANCERY_TEST_DATABASE: 'sqlite' },
        },
      },
      {
        ...shared,
        test: {
          ...together,
          name: 'postgres',
          include: ['apps/authority/src/**/*.test.ts'],
          env: { CHANCERY_TEST_DATABASE: 'postgres' },
          globalSetup: ['tools/test-databases.ts'],
        },
      },
      {
        ...shared,
        test: {
          ...base,
          name: 'console',
          include: ['apps/console/src/**/*.test.ts', 'tests/console/**/*.test.ts'],
          globalSetup: ['tools/test-console.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      { ...shared, test: { ...base, name: 'e2e', include: ['tests/e2e/**/*.test.ts'], testTimeout: 60_000 } },
    ],
  },
})
