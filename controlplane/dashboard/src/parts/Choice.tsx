/** One of a few: what a list is narrowed to, or what a form is about. */
export function Choice<T extends string>({
  label,
  value,
  options,
  names,
  onChange,
}: {
  label: string
  value: T
  options: readonly T[]
  /** What people call them; without it, their own words. */
  names?: Readonly<Record<T, { label: string }>>
  onChange: (value: T) => void
}) {
  return (
    <label className={names ? 'field' : 'field choice'}>
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value as T)}>
        {options.map((one) => (
          <option key={one} value={one}>
            {names ? names[one].label : one.replaceAll('_', ' ') || 'any'}
          </option>
        ))}
      </select>
    </label>
  )
}

/** One of those that a table names, in its order. */
export function Named<T extends string>({ label, value, of, onChange }: { label: string; value: T; of: Readonly<Record<T, { label: string }>>; onChange: (value: T) => void }) {
  return <Choice label={label} value={value} options={Object.keys(of) as T[]} names={of} onChange={onChange} />
}
