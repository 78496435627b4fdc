import type { CertificateFilter, Client, IssuedCertificate, IssuedState } from '@chancery/sdk'
import { useEffect, useState } from 'preact/hooks'
import type { JSX } from 'preact'
import { explain } from '../../authority.ts'
import { Badge } from '../../components/badge.tsx'

interface Shown {
  readonly rows: readonly IssuedCertificate[]
  readonly total: number | null
  readonly next: string | null
}

const PAGE = 50
const STATES: readonly IssuedState[] = ['valid', 'superseded', 'expired', 'revoked']

/** Every issued certificate, newest first, found by state and label. */
export function Inventory({ client }: { readonly client: Client }): JSX.Element {
  const [shown, setShown] = useState<Shown>()
  const [filter, setFilter] = useState<CertificateFilter>({})
  const [problem, setProblem] = useState('')
  const load = (asked: CertificateFilter, before?: Shown): void => {
    const cursor = before?.next ?? undefined
    client.enrollment.certificates({ ...asked, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }).then(
      (page) => {
        setProblem('')
        setShown({
          rows: [...(before?.rows ?? []), ...page.certificates],
          total: before === undefined ? (page.total ?? null) : before.total,
          next: page.next_cursor ?? null,
        })
      },
      (error: unknown) => setProblem(explain(error)),
    )
  }
  useEffect(() => load({}), [client])
  return (
    <section class="card" data-inventory>
      <h2>
        Issued certificates{' '}
        {shown === undefined || shown.total === null ? '' : <span class="quiet">{shown.total}</span>}
      </h2>
      <FilterForm
        search={(asked) => {
          setFilter(asked)
          load(asked)
        }}
      />
      {problem === '' ? null : <p role="alert">{problem}</p>}
      {shown === undefined ? null : <Rows rows={shown.rows} />}
      {shown === undefined || shown.next === null ? null : (
        <button type="button" class="quiet-button" onClick={() => load(filter, shown)}>
          More
        </button>
      )}
    </section>
  )
}

function FilterForm({ search }: { readonly search: (filter: CertificateFilter) => void }): JSX.Element {
  const [state, setState] = useState('')
  const [label, setLabel] = useState('')
  const submit = (event: Event): void => {
    event.preventDefault()
    const known = STATES.find((each) => each === state)
    search({ ...(known === undefined ? {} : { state: known }), ...(label === '' ? {} : { label }) })
  }
  return (
    <form class="try" onSubmit={submit}>
      <p class="entry">
        <label for="inventory-state">State</label>
        <select id="inventory-state" value={state} onChange={(event) => setState(event.currentTarget.value)}>
          <option value="">any</option>
          {STATES.map((each) => (
            <option key={each} value={each}>
              {each}
            </option>
          ))}
        </select>
      </p>
      <p class="entry">
        <label for="inventory-label">Label contains</label>
        <input
          id="inventory-label"
          value={label}
          autocomplete="off"
          maxLength={64}
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
      </p>
      <button>Search</button>
    </form>
  )
}

function Rows({ rows }: { readonly rows: readonly IssuedCertificate[] }): JSX.Element {
  return (
    <div class="table" role="region" aria-label="Issued certificates" tabIndex={0}>
      <table data-issued={rows.length}>
        <thead>
          <tr>
            <th scope="col">Label</th>
            <th scope="col">State</th>
            <th scope="col">Roles</th>
            <th scope="col">Issued</th>
            <th scope="col">Ends</th>
            <th scope="col">Certificate</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.cert_id}>
              <td data-label="Label">{row.label ?? '–'}</td>
              <td data-label="State">
                <Badge
                  tone={row.state === 'valid' ? 'good' : row.state === 'revoked' ? 'bad' : 'ended'}
                  word={row.state}
                />
              </td>
              <td data-label="Roles">{row.roles.join(', ')}</td>
              <td data-label="Issued">{toMinute(row.issued_at)}</td>
              <td data-label="Ends">{toMinute(row.expires_at)}</td>
              <td data-label="Certificate">
                <code class="id">{row.cert_id}</code>
              </td>
            </tr>
          ))}
          {rows.length === 0 ? (
            <tr>
              <td colSpan={6}>No certificate matches.</td>
            </tr>
          ) : null}
        </tbody>
      </table>
    </div>
  )
}

function toMinute(time: string): string {
  return time.slice(0, 16).replace('T', ' ')
}
