import type { ComponentChildren, JSX } from 'preact'

/** Facts as names and values, in order. Entries without a value are left out. */
export function Facts(props: {
  readonly of: readonly (readonly [name: string, value: ComponentChildren])[]
}): JSX.Element {
  return (
    <dl class="facts">
      {props.of.map(([name, value]) =>
        value === undefined || value === null || value === '' ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  )
}

/** Roles without `role:`, which is in the title. */
export function Roles({ roles }: { readonly roles: readonly string[] }): JSX.Element {
  return (
    <>
      {roles.map((role) => (
        <span class="tag" title={role} key={role}>
          {role.replace(/^role:/, '')}
        </span>
      ))}
    </>
  )
}
