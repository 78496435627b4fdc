import { describe, expect, it } from 'vitest'
import { HttpResponse } from './response.ts'
import { type Markup, escapeText, html, markup } from './html.ts'

describe('markup', () => {
  it('escapes every value for text and for quoted attributes', () => {
    const evil = `<img src=x onerror="alert('1')">&`
    const shown = '&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;'
    expect(markup`<p title="${evil}">${evil}</p>`.text).toBe(`<p title="${shown}">${shown}</p>`)
  })

  it('does not escape markup again, alone and in lists, and shows nothing for undefined and false', () => {
    const rows = ['a<', 'b'].map((name) => markup`<li>${name}</li>`)
    expect(markup`<ul>${rows}</ul>${undefined}${false}${markup`<b>${0}</b>`}`.text).toBe(
      '<ul><li>a&lt;</li><li>b</li></ul><b>0</b>',
    )
  })

  it('refuses objects that only resemble markup, alone and in lists', () => {
    const lookalike = { text: '<b>' } as unknown as Markup
    expect(() => markup`${lookalike}`).toThrow('not a function')
    expect(() => markup`${[lookalike]}`).toThrow('not a function')
  })
})

describe('escapeText', () => {
  it.each([
    ['a right-to-left override', 'PAY\u202eEM', 'PAY\\u202eEM'],
    ['a zero-width space', 'A\u200bB', 'A\\u200bB'],
    ['a control', 'A\u0007B', 'A\\u0007B'],
    ['a lone surrogate', 'A\ud800B', 'A\ufffdB'],
    ['letters of any script', 'Zoë 東京 🜁', 'Zoë 東京 🜁'],
  ])('shows %s', (_name, given, shown) => {
    expect(escapeText(given)).toBe(shown)
  })
})

describe('html', () => {
  it('is a page in UTF-8', () => {
    const answer = html(markup`<p>${'ü'}</p>`)
    expect(answer).toBeInstanceOf(HttpResponse)
    expect([answer.body, answer.contentType]).toEqual(['<p>ü</p>', 'text/html; charset=utf-8'])
  })
})
