"""What people see: tables, figures, pages."""
