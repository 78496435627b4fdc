import { useEffect, useRef } from 'preact/hooks'
import type { JSX } from 'preact'
import { writeLocation } from '../view-location.ts'
import { type Operation, isFound } from '../requests/catalogue.ts'

// oxlint-disable-next-line max-lines-per-function -- the state of one list and its markup
export function OperationList(props: {
  readonly operations: readonly Operation[]
  readonly chosen: string | undefined
  readonly search: string
  readonly setSearch: (search: string) => void
  readonly group: string
  readonly setGroup: (group: string) => void
}): JSX.Element {
  const { operations, chosen, search, group } = props
  const groups = [...new Set(operations.map((each) => each.group))]
  const found = operations.filter((each) => (group === '' || each.group === group) && isFound(each, search))
  const element = useRef<HTMLDivElement>(null)
  // Scrolls the list, not the page, to an operation that was opened by a link.
  useEffect(() => {
    const entry = element.current?.querySelector<HTMLElement>('[aria-current]')
    if (entry === null || entry === undefined || element.current === null) return
    const { top, bottom } = element.current.getBoundingClientRect()
    const at = entry.getBoundingClientRect()
    if (at.top < top || at.bottom > bottom) element.current.scrollTop += at.top - top - (bottom - top) / 3
  }, [chosen, operations.length])
  return (
    <>
      <p class="field">
        <label for="search">Search</label>
        <input
          class="input"
          id="search"
          type="search"
          value={search}
          onInput={(event) => props.setSearch(event.currentTarget.value)}
        />
      </p>
      <p class="field">
        <label for="group">Group</label>
        <select class="input" id="group" value={group} onChange={(event) => props.setGroup(event.currentTarget.value)}>
          <option value="">all groups</option>
          {groups.map((name) => (
            <option key={name} value={name}>
              {spoken(name)}
            </option>
          ))}
        </select>
      </p>
      <p class="quiet" role="status" data-found={found.length}>
        {found.length} of {operations.length}
      </p>
      <div class="operations" ref={element}>
        {groups
          .filter((name) => found.some((each) => each.group === name))
          .map((name) => (
            <section key={name} aria-label={spoken(name)}>
              <h2>{spoken(name)}</h2>
              <ul>
                {found
                  .filter((each) => each.group === name)
                  .map((each) => (
                    <li key={each.id}>
                      <a
                        href={writeLocation('explorer', each.id)}
                        {...(each.id === chosen ? { 'aria-current': 'true' as const } : {})}
                      >
                        <span class={`method method-${each.method.toLowerCase()}`}>{each.method}</span>
                        <span>
                          {each.isOwn ? each.path : each.name}
                          {each.needsSignature ? <span class="quiet"> · signed</span> : null}
                        </span>
                      </a>
                    </li>
                  ))}
              </ul>
            </section>
          ))}
      </div>
    </>
  )
}

function spoken(group: string): string {
  return group.replaceAll('_', ' ')
}
