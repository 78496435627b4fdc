import { describe, expect, it } from 'vitest'
import { readQuestions } from './check-search.ts'
import { addressOf, documents } from './pages.ts'

// The step `docs` of the check asks the search of the built site (check-search.ts).
describe('questions for the search', () => {
  it('are 25 or more, each once', () => {
    const questions = readQuestions().map(({ question }) => question)
    expect(questions.length).toBeGreaterThanOrEqual(25)
    expect(new Set(questions).size).toBe(questions.length)
  })

  it('name pages that exist', () => {
    const addresses = new Set(documents().map((file) => addressOf(file)))
    expect(readQuestions().filter(({ page }) => !addresses.has(page))).toEqual([])
  })
})
