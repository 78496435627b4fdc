import { expect, it } from 'vitest'
import { toFilters } from './changed-tests.ts'

it.each([
  [['packages/sdk/src/http/url.ts', 'packages/sdk/src/index.ts'], ['packages/sdk/']],
  [['apps/authority/src/features/crl/queries.ts'], ['apps/authority/src/features/crl/']],
  [['apps/authority/src/features/agents/queries/agents.ts'], ['apps/authority/src/features/agents/']],
  [['apps/authority/src/database/locks/leases.ts'], ['apps/authority/src/database/']],
  [['apps/authority/src/app.ts'], ['apps/authority/src/app.']],
  // Not the tests of all features.
  [['apps/authority/src/features.ts'], ['apps/authority/src/features.']],
  [['tools/check/check.ts'], ['tools/']],
  [['README.md', 'apps/console/src/main.tsx', 'packages/sdk/package.json', 'tests/e2e/demo.test.ts'], []],
])('the changed files %j give the test filters %j', (files, filters) => {
  expect(toFilters(files)).toEqual(filters)
})
