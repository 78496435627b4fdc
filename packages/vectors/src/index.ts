export { readCaseFiles, runCases } from './run-cases.ts'
export type { CaseFile, CaseResult, ConformanceCase, Json, RunOptions } from './run-cases.ts'
