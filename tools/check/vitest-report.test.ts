import { expect, test } from 'vitest'
import { failedTests } from './vitest-report.ts'

const passed = { fullName: 'is fine', status: 'passed', failureMessages: [] }
const report = {
  numPassedTests: 2,
  numFailedTests: 1,
  testResults: [
    { name: '/root/a.test.ts', status: 'passed', assertionResults: [passed] },
    {
      name: '/root/b.test.ts',
      status: 'failed',
      assertionResults: [passed, { fullName: 'adds', status: 'failed', failureMessages: ['expected 3'] }],
    },
    {
      name: '/root/c.test.ts',
      status: 'failed',
      message: 'Hook timed out',
      assertionResults: [{ ...passed, status: 'skipped' }],
    },
  ],
}

test('a failed test and a file whose hook failed are both reported', () => {
  expect(failedTests(report, '/root')).toEqual([
    { file: 'b.test.ts', name: 'adds', message: 'expected 3' },
    { file: 'c.test.ts', name: 'outside of its tests', message: 'Hook timed out' },
  ])
})
