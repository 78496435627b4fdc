import type { CaseResult, TestReport } from './policy-tests.ts'

/** The results as JUnit XML, the form build servers read. One suite for each file with cases. */
export function junitXml({ results }: TestReport): string {
  const files = [...new Set(results.map((each) => each.file))]
  const suites = files.map((file) =>
    suite(
      file,
      results.filter((each) => each.file === file),
    ),
  )
  const failed = results.filter(isFailed).length
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites tests="${results.length}" failures="${failed}">\n${suites.join('')}</testsuites>\n`
}

function suite(file: string, results: readonly CaseResult[]): string {
  const failed = results.filter(isFailed).length
  const cases = results.map((each) => `    ${testCase(each)}\n`).join('')
  return `  <testsuite name="${escape(file)}" tests="${results.length}" failures="${failed}">\n${cases}  </testsuite>\n`
}

function testCase(result: CaseResult): string {
  const head = `<testcase classname="${escape(result.file)}" name="${escape(result.name)}"`
  if (!isFailed(result)) return `${head}/>`
  const lines = result.differences.map(
    ({ subject, expected, actual }) => `${subject}: expected ${expected}, got ${actual}`,
  )
  return `${head}><failure message="${escape(lines[0] ?? '')}">${escape(lines.join('\n'))}</failure></testcase>`
}

function isFailed({ differences }: CaseResult): boolean {
  return differences.length > 0
}

/** Escapes markup, because names come from files. Characters that XML does not allow are removed. */
function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
}
