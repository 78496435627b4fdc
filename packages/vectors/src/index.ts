export { readCaseFiles } from './case-files.ts'
export type { CaseFile, ConformanceCase, Json } from './case-files.ts'
export { runCases } from './run-cases.ts'
export type { CaseResult, RunOptions } from './run-cases.ts'
