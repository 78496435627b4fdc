import type { EvidenceFilter } from '@chancery/sdk'
import { useState } from 'preact/hooks'
import type { JSX } from 'preact'

type Name = Exclude<keyof EvidenceFilter, 'after_sequence' | 'limit'>

const FIELDS: readonly { readonly name: Name; readonly label: string; readonly help?: string }[] = [
  { name: 'capability', label: 'Capability' },
  { name: 'outcome', label: 'Outcome' },
  { name: 'entry_kind', label: 'Kind of entry' },
  { name: 'vendor_id', label: 'Vendor' },
  { name: 'attestation_id', label: 'Attestation' },
  { name: 'decision_id', label: 'Decision' },
  { name: 'resource_id', label: 'Resource' },
  { name: 'since', label: 'Not before', help: '2026-01-31T08:00:00Z' },
  { name: 'until', label: 'Not after', help: '2026-02-01T00:00:00Z' },
]

/** Every filter of the store. An empty field is not used. */
export function FilterForm(props: {
  readonly isBusy: boolean
  readonly search: (filter: EvidenceFilter) => void
}): JSX.Element {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const submit = (event: Event): void => {
    event.preventDefault()
    const given = Object.entries(values).filter(([, value]) => value.trim() !== '')
    props.search(Object.fromEntries(given.map(([name, value]) => [name, value.trim()])))
  }
  return (
    <form class="filters" role="search" aria-label="Evidence" onSubmit={submit}>
      {FIELDS.map(({ name, label, help }) => (
        <p class="entry" key={name}>
          <label for={`evidence-${name}`}>{label}</label>
          <input
            id={`evidence-${name}`}
            value={values[name] ?? ''}
            placeholder={help}
            autocomplete="off"
            onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
        </p>
      ))}
      <button disabled={props.isBusy}>Search</button>
    </form>
  )
}
