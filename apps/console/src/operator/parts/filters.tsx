import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { address, navigate, withQuery } from '../router.ts'
import { useStore } from '../store.ts'
import { Icon } from './icon.tsx'
import type { Tone } from './icons.ts'

export interface Tab {
  /** Empty for the tab without a filter. */
  readonly value: string
  readonly text: string
  /** Undefined when the authority does not count it. */
  readonly count?: number | undefined
  /** Only for states that need attention. */
  readonly tone?: Tone
  /** A tab that is another view has its own address. */
  readonly href?: string
}

const MOST = 10_000

export function countText(count: number): string {
  return count > MOST ? '10,000+' : count.toLocaleString('en')
}

/** Exclusive states with their counts. The choice is in the address. */
export function Tabs(props: {
  readonly parameter: string
  readonly label: string
  readonly of: readonly Tab[]
  /** When another parameter decides it. */
  readonly chosen?: string
}): JSX.Element {
  const { query } = useStore(address)
  const chosen = props.chosen ?? query.get(props.parameter) ?? ''
  const tabs = useRef<HTMLElement>(null)
  // On a phone the tabs are wider than the screen.
  useEffect(() => {
    tabs.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [chosen])
  return (
    <nav class="tabs" aria-label={props.label} ref={tabs}>
      {props.of.map(({ value, text, count, tone, href }) => (
        <a
          key={value}
          href={href ?? withQuery({ tab: undefined, [props.parameter]: value, do: undefined })}
          {...(chosen === value ? { 'aria-current': 'page' as const } : {})}
        >
          {text}
          {count === undefined ? null : <span class={`n ${count > 0 ? (tone ?? '') : ''}`}>{countText(count)}</span>}
        </a>
      ))}
    </nav>
  )
}

export interface Filter {
  readonly parameter: string
  readonly label: string
  /** Fixed choices; without them any text can be entered. */
  readonly choices?: readonly { readonly value: string; readonly text: string }[]
  readonly placeholder?: string
}

const SEARCH_DELAY_MS = 250

export function Filters(props: {
  readonly search?: { readonly placeholder: string; readonly label: string } | undefined
  readonly filters: readonly Filter[]
  readonly aside?: ComponentChildren
}): JSX.Element {
  return (
    <div class="filters">
      {props.search === undefined ? null : <Search {...props.search} />}
      {props.filters.map((filter) => (
        <FilterChip key={filter.parameter} filter={filter} />
      ))}
      {props.aside === undefined ? null : <div class="end">{props.aside}</div>}
    </div>
  )
}

function Search({ placeholder, label }: { readonly placeholder: string; readonly label: string }): JSX.Element {
  const sent = useStore(address).query.get('q') ?? ''
  const [text, setText] = useState(sent)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => setText(sent), [sent])
  useEffect(() => () => clearTimeout(timer.current), [])
  const apply = (value: string): void => {
    clearTimeout(timer.current)
    if (value !== sent) navigate(withQuery({ q: value }), { replace: sent !== '' })
  }
  return (
    <label class="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={text}
        data-search
        onInput={({ currentTarget: { value } }) => {
          setText(value)
          clearTimeout(timer.current)
          timer.current = setTimeout(() => apply(value), SEARCH_DELAY_MS)
        }}
        onKeyDown={(event) => event.key === 'Enter' && apply(event.currentTarget.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </label>
  )
}

function FilterChip({ filter }: { readonly filter: Filter }): JSX.Element {
  const value = useStore(address).query.get(filter.parameter) ?? ''
  const box = useRef<HTMLDetailsElement>(null)
  const set = (next: string): void => {
    box.current?.removeAttribute('open')
    navigate(withQuery({ [filter.parameter]: next }))
  }
  if (value !== '')
    return (
      <span class="chip set">
        {filter.label}: {filter.choices?.find((each) => each.value === value)?.text ?? value}
        <a
          class="copy"
          href={withQuery({ [filter.parameter]: undefined })}
          aria-label={`Remove the filter ${filter.label}`}
        >
          <Icon name="close" />
        </a>
      </span>
    )
  return (
    <details
      class="filter"
      ref={box}
      onKeyDown={(event) => event.key === 'Escape' && box.current?.removeAttribute('open')}
    >
      <summary class="chip">
        <Icon name="plus" />
        {filter.label}
      </summary>
      <div class="choices panel">
        {filter.choices?.map((choice) => (
          <button type="button" class="btn ghost" key={choice.value} onClick={() => set(choice.value)}>
            {choice.text}
          </button>
        )) ?? (
          <input
            class="input"
            aria-label={filter.label}
            placeholder={filter.placeholder ?? ''}
            onKeyDown={(event) => event.key === 'Enter' && set(event.currentTarget.value.trim())}
          />
        )}
      </div>
    </details>
  )
}
